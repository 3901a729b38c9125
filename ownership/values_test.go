package ownership_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

func TestKeyValid(t *testing.T) {
	good := strings.Repeat("0123456789abcdef", 3)[:40]
	for k, want := range map[string]bool{
		good: true, "": false, good[1:]: false, good + "0": false,
		strings.ToUpper(good): false, "{" + good[1:]: false, good[:39] + "g": false, good[:39] + "\n": false,
	} {
		if got := ownership.Key(k).Valid(); got != want {
			t.Errorf("%q: %t, want %t", k, got, want)
		}
	}
}

func TestAttemptIDValid(t *testing.T) {
	const good = "01890a5d-ac96-774b-bcce-b302099a8057"
	for id, want := range map[string]bool{
		good: true, "": false, good[1:]: false, good + "0": false, strings.ToUpper(good): false,
		strings.ReplaceAll(good, "-", "0"): false, "0" + strings.Replace(good, "-", "", 1): false, good[:35] + "/": false,
	} {
		if got := ownership.AttemptID(id).Valid(); got != want {
			t.Errorf("%q: %t, want %t", id, got, want)
		}
	}
}

func TestCharge(t *testing.T) {
	climb := ownership.Failure{Class: "timeout", Climb: true}
	flat := ownership.Failure{Class: "overloaded"}
	limited := ownership.Failure{Class: "status_429", Climb: true, Cooldown: 7 * time.Minute}
	endless := ownership.Failure{Class: "status_429", Cooldown: 100 * time.Hour}
	for _, tc := range []struct {
		name   string
		f      ownership.Failure
		streak int
		after  int
		want   time.Duration
	}{
		{"first", climb, 0, 1, ownership.FirstRung},
		{"second", climb, 1, 2, ownership.SecondRung},
		{"third", climb, 2, 3, ownership.ThirdRung},
		{"any later", climb, 1000, 1001, ownership.ThirdRung},
		{"flat", flat, 0, 0, ownership.FirstRung},
		{"flat within a streak", flat, 2, 2, ownership.FirstRung},
		{"its own cooldown still climbs", limited, 2, 3, 7 * time.Minute},
		{"at most an hour", endless, 0, 0, ownership.MaxCooldown},
	} {
		if after, got := tc.f.Charge(tc.streak); after != tc.after || got != tc.want {
			t.Errorf("%s: streak %d and %v, want %d and %v", tc.name, after, got, tc.after, tc.want)
		}
	}
}

func TestErrorsMatch(t *testing.T) {
	if err := error(&ownership.EndedError{Phase: ownership.Failed}); !errors.Is(err, ownership.ErrEnded) || errors.Is(err, ownership.ErrLost) {
		t.Errorf("%v", err)
	}
	if err := error(&ownership.CancelledError{Reason: "operator"}); !errors.Is(err, ownership.ErrCancelled) || !strings.Contains(err.Error(), "operator") {
		t.Errorf("%v", err)
	}
	if err := error(&ownership.RouteError{Err: errUpstream}); !errors.Is(err, errUpstream) {
		t.Errorf("%v", err)
	}
}

func TestFenceString(t *testing.T) {
	f := ownership.Fence{Generation: 18446744073709551615, Attempt: "id"}
	if got := f.String(); got != "18446744073709551615/id" || f.Unfenced() {
		t.Errorf("%s", got)
	}
	if !(ownership.Fence{Attempt: "id"}).Unfenced() {
		t.Error("generation 0 is fenced")
	}
}

func FuzzParseDigest(f *testing.F) {
	f.Add(ownership.Digest{1, 2, 3}.String())
	f.Add("")
	f.Add(strings.Repeat("A", 64))
	f.Add(strings.Repeat("é", 32))
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ownership.ParseDigest(s)
		if err == nil && d.String() != strings.ToLower(s) {
			t.Fatalf("%q came back as %s", s, d)
		}
	})
}
