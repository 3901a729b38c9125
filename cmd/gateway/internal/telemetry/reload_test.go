package telemetry_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry"
)

func TestReloadsAreCounted(t *testing.T) {
	t.Parallel()
	tel := newTelemetry(t)
	loadedAt := regexp.MustCompile(`(?m)^foldgate_config_loaded_at_seconds 1\.\d+e\+09$`)
	tel.Reloaded(telemetry.ReloadRefused)
	if got := scrape(t, tel); loadedAt.MatchString(got) {
		t.Error("a refused configuration counts as loaded")
	}
	tel.Reloaded(telemetry.ReloadChanged)
	tel.Reloaded(telemetry.ReloadUnchanged)
	got := scrape(t, tel)
	for _, outcome := range []string{"refused", "changed", "unchanged"} {
		if line := `foldgate_config_reloads_total{outcome="` + outcome + `"} 1`; !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if !loadedAt.MatchString(got) {
		t.Errorf("nothing is said of when it was loaded:\n%s", got)
	}
}

// A counter that appears with its first event shows no increase then.
func TestRefusedReloadsBeginAtZero(t *testing.T) {
	t.Parallel()
	tel := newTelemetry(t)
	tel.Loaded()
	if page := scrape(t, tel); !strings.Contains(page, `foldgate_config_reloads_total{outcome="refused"} 0`) {
		t.Errorf("no refusals are counted yet:\n%s", page)
	}
}
