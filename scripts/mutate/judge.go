package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// stage is a set of tests that run together.
type stage struct {
	name, run, skip string
}

// elsewhere are tests of connections and text, which judge no script and take
// their time.
const elsewhere = `Breaker|CallerGoesWhileWaiting|CheckURL|Cluster|ConnectionsCut|ContextThatEnded|DemotedMasterGivesNoAnswer|` +
	`DialThatHangs|ForeignClientWithRetries|FrozenServer|Linearizable|LostAgainAndAgain|NoAnswerIsIndeterminate|ParseURL|` +
	`ReadOnlyReplica|SentinelFailover|ServerIsNotThere|WatchOfAServerThatIsAway|WatchReconnects`

// stages, the fastest first. A mutant that reaches the last one was seen by no
// test of a named case.
var stages = []stage{
	{name: "tests of the store", run: ".", skip: `^Test(` + elsewhere + `|Model|Suite.*|Seed)$|^(Fuzz|Example)`},
	{name: "suite on miniredis", run: "^TestSuiteMiniredis$"},
	{name: "suite and seed on redis", run: "^(TestSuiteRedis|TestSeed)$"},
	{name: "model", run: "^TestModel$"},
}

// verdict is what became of a mutant.
type verdict string

const (
	killed     verdict = "killed"
	crashed    verdict = "crashed"  // killed, for the script stopped with an error
	timedOut   verdict = "timeout"  // killed, for the tests did not end
	broken     verdict = "broken"   // it does not compile: proves nothing
	survived   verdict = "SURVIVED" // and stands out
	equivalent verdict = "equivalent"
)

// result is a mutant and what became of it.
type result struct {
	mutant
	Verdict verdict `json:"verdict"`
	// By is the test that failed.
	By      string  `json:"by,omitempty"`
	Seconds float64 `json:"seconds"`
	// Reason is why it counts as equivalent.
	Reason string `json:"reason,omitempty"`

	output string
}

// folderVariable names to the test program the folder with the scripts.
const folderVariable = "MUTATE_SCRIPTS"

// judge runs the tests of redisstore on any set of scripts. It is safe for
// concurrent use.
type judge struct {
	dir     string
	program string
	scripts []script
	timeout time.Duration
}

// newJudge builds the test program in dir.
func newJudge(ctx context.Context, module, dir string, scripts []script, timeout time.Duration) (*judge, error) {
	source := filepath.Join(module, "redisstore", "scripts.go")
	text, err := os.ReadFile(source) //nolint:gosec // a file of this module
	if err != nil {
		return nil, fmt.Errorf("read what embeds the scripts: %w", err)
	}
	changed, err := fromFolder(string(text))
	if err != nil {
		return nil, err
	}
	instead := filepath.Join(dir, "scripts.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: instead}})
	if err != nil {
		return nil, fmt.Errorf("write the overlay: %w", err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	for path, content := range map[string][]byte{instead: []byte(changed), overlayFile: overlay} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, fmt.Errorf("write the overlay: %w", err)
		}
	}
	j := &judge{dir: dir, program: filepath.Join(dir, "redisstore.test"), scripts: scripts, timeout: timeout}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlayFile, "-o", j.program, "./redisstore") //nolint:gosec // paths of our own
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the tests: %w\n%s", err, out)
	}
	return j, nil
}

// fromFolder changes the text of scripts.go so that scripts come from a folder.
func fromFolder(text string) (string, error) {
	for _, change := range [][2]string{
		{"\t\"embed\"\n", "\t\"io/fs\"\n\t\"os\"\n\t\"path\"\n\t\"path/filepath\"\n"},
		{"//go:embed scripts/*.lua\nvar scriptFiles embed.FS\n", `
var scriptFiles folder

type folder struct{}

func (folder) ReadFile(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(os.Getenv("` + folderVariable + `"), path.Base(name)))
}

func (folder) ReadDir(string) ([]fs.DirEntry, error) { return os.ReadDir(os.Getenv("` + folderVariable + `")) }
`},
	} {
		if strings.Count(text, change[0]) != 1 {
			return "", fmt.Errorf("redisstore/scripts.go embeds the scripts in another way than this program knows: no %q", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return text, nil
}

// acquit runs the unchanged scripts, which must pass.
func (j *judge) acquit(ctx context.Context) error {
	got, err := j.try(ctx, mutant{})
	if err == nil && got.Verdict != survived {
		err = fmt.Errorf("the unchanged scripts fail: %s %s\n%s", got.Verdict, got.By, got.output)
	}
	return err
}

// try judges one mutant; one without a file is the original.
func (j *judge) try(ctx context.Context, m mutant) (result, error) {
	began := time.Now()
	folder, err := j.lay(m)
	if err != nil {
		return result{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	r := result{mutant: m, Verdict: survived}
	for _, s := range stages {
		out, err := j.execute(ctx, folder, s)
		if err != nil {
			return result{}, err
		}
		if out.passed {
			continue
		}
		r.output, r.By = out.text, s.name
		if out.expired {
			r.Verdict = timedOut
			break
		}
		if uncompiled.MatchString(out.text) {
			r.Verdict = broken
			break
		}
		suspect := s
		if name := failedTest(out.text); name != "" {
			r.By, suspect = name, stage{run: exactly(name)}
		}
		again, err := j.execute(ctx, folder, suspect)
		if err != nil {
			return result{}, err
		}
		if !again.passed {
			r.Verdict = killed
			if stopped.MatchString(out.text) {
				r.Verdict = crashed
			}
			break
		}
		r.output, r.By = "", ""
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// lay writes the scripts into a folder, one of them changed.
func (j *judge) lay(m mutant) (string, error) {
	folder, err := os.MkdirTemp(j.dir, "scripts-")
	if err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	for _, s := range j.scripts {
		text := s.text
		if s.name == m.File {
			text = m.text
		}
		if err := os.WriteFile(filepath.Join(folder, s.name), []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("write a script: %w", err)
		}
	}
	return folder, nil
}

// outcome is how one run of tests ended.
type outcome struct {
	passed, expired bool
	text            string
}

// grace is what the program gets to end by itself after its time is over.
const grace = 10 * time.Second

func (j *judge) execute(ctx context.Context, folder string, s stage) (outcome, error) {
	bounded, cancel := context.WithTimeout(ctx, j.timeout+grace)
	defer cancel()
	args := []string{
		"-test.run=" + s.run, "-test.failfast", "-test.timeout=" + j.timeout.String(),
		"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=0s",
	}
	if s.skip != "" {
		args = append(args, "-test.skip="+s.skip)
	}
	cmd := exec.CommandContext(bounded, j.program, args...) //nolint:gosec // the program that was built here
	cmd.Dir = j.dir
	// A test that is skipped for want of a server would acquit every mutant.
	cmd.Env = append(os.Environ(), folderVariable+"="+folder, "FOLDGATE_REQUIRE_REDIS=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return outcome{}, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && bounded.Err() == nil {
		return outcome{}, fmt.Errorf("run the tests: %w", err)
	}
	text := out.String()
	if err == nil && strings.Contains(text, "no tests to run") {
		return outcome{}, fmt.Errorf("no test matches %q", s.run)
	}
	return outcome{
		passed:  err == nil,
		expired: bounded.Err() != nil || strings.Contains(text, "panic: test timed out after"),
		text:    text,
	}, nil
}

// What Redis and miniredis, in this order, say of a script that they cannot
// compile, and of one that stopped with an error. miniredis calls both the same.
var (
	uncompiled = regexp.MustCompile(`Error compiling script \(new function\): (user_script:|<string> (line:|at EOF:))`)
	stopped    = regexp.MustCompile(`(user_script|<string>):\d+: `)
)

var failLine = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// failedTest is the first test that failed, with its subtests' names down to the
// innermost. Empty if none is named.
func failedTest(output string) string {
	found := ""
	for _, m := range failLine.FindAllStringSubmatch(output, -1) {
		if found != "" && !strings.HasPrefix(m[1], found+"/") {
			break
		}
		found = m[1]
	}
	return found
}

// exactly is the pattern that matches that test alone.
func exactly(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// moduleRoot is the folder of the module in which the program was started.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
