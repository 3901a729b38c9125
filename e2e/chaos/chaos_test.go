package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFaultsUnderLoad is the short form of "make chaos": every fault once, with
// the same checks.
func TestFaultsUnderLoad(t *testing.T) {
	w := testWorld(t)
	for _, phase := range phases() {
		led, err := w.run(t.Context(), phase.name, phase.together...)
		if err != nil {
			t.Fatalf("%s: %v", phase.name, err)
		}
		t.Logf("%s: %d requests (%s), %d commits judged, %d sweeps", phase.name, led.count(), led.told(), led.judgedCommits(), led.sweepCount())
		for _, text := range led.failures() {
			t.Error(text)
		}
	}
	if err := w.leftovers(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := w.memory(); err != nil {
		t.Error(err)
	}
}

// phase is what happens at once in the short form: what single requests ask for, or
// single callers do, needs no turn of its own.
type phase struct {
	name     string
	together []scenario
}

func phases() (list []phase) {
	alone := func(of []scenario) {
		for _, s := range of {
			list = append(list, phase{s.name, []scenario{s}})
		}
	}
	alone(storeScenarios())
	upstream := upstreamScenarios()
	alone(upstream[:1])
	list = append(list, phase{"every plan of the upstream", upstream[1:]}, phase{"clients that leave and slow ones", clientScenarios()})
	alone(summarizerScenarios())
	alone(replicaScenarios())
	return list
}

func testWorld(t *testing.T) *world {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("open files and memory are read from /proc, and a full disk is /dev/full: Linux only")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		if required("CI", "FOLDGATE_REQUIRE_REDIS") {
			t.Fatal(errNoRedis)
		}
		t.Skip(errNoRedis)
	}
	o := short()
	o.gateway = os.Getenv("CHAOS_GATEWAY")
	if o.gateway == "" {
		o.gateway = filepath.Join(t.TempDir(), "gateway")
		if err := build(t.Context(), o.gateway); err != nil {
			t.Fatal(err)
		}
	}
	w, err := newWorld(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, r := range w.replicas {
				t.Logf("the end of replica %s's log:\n%s", r.name, r.out)
			}
		}
		w.close()
	})
	return w
}

// required reports whether one of these variables asks for what a test would else
// do without: CI mostly. 0 and false are no.
func required(names ...string) bool {
	for _, name := range names {
		switch strings.ToLower(os.Getenv(name)) {
		case "", "0", "false":
		default:
			return true
		}
	}
	return false
}
