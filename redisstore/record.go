package redisstore

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// The fields of the conversation hash, but for the handoffs, by position in
// what scripts read and reply. fieldNames names them to Lua.
const (
	fieldOwner = iota
	fieldPhase
	fieldReplica
	fieldRoute
	fieldTrace
	fieldClaimed
	fieldProgress
	fieldLease
	fieldLeaseEnd
	fieldCeiling
	fieldDeaths
	fieldDigest
	fieldCovered
	fieldCancel
	fieldCancelReason
	fieldCancelAt
	fieldCheckpoints
	fieldCooldown
	fieldError
	fieldStreak
	fieldStrikes
	fieldBlocked
	fieldSnap
	fieldSnapCheckpoints
	fieldSnapCooldown
	fieldSnapError
	fieldSnapStreak
	fieldSnapStrikes
	fieldSnapBlocked
)

var fieldNames = [...]string{
	fieldOwner:           "owner",
	fieldPhase:           "phase",
	fieldReplica:         "replica",
	fieldRoute:           "route",
	fieldTrace:           "trace",
	fieldClaimed:         "claimed",
	fieldProgress:        "progress",
	fieldLease:           "lease",
	fieldLeaseEnd:        "lease_end",
	fieldCeiling:         "ceiling",
	fieldDeaths:          "deaths",
	fieldDigest:          "digest",
	fieldCovered:         "covered",
	fieldCancel:          "cancel",
	fieldCancelReason:    "cancel_reason",
	fieldCancelAt:        "cancel_at",
	fieldCheckpoints:     "checkpoints",
	fieldCooldown:        "cooldown",
	fieldError:           "error",
	fieldStreak:          "streak",
	fieldStrikes:         "strikes",
	fieldBlocked:         "blocked",
	fieldSnap:            "snap",
	fieldSnapCheckpoints: "snap_checkpoints",
	fieldSnapCooldown:    "snap_cooldown",
	fieldSnapError:       "snap_error",
	fieldSnapStreak:      "snap_streak",
	fieldSnapStrikes:     "snap_strikes",
	fieldSnapBlocked:     "snap_blocked",
}

// fields are the values of a conversation; an absent one is empty.
type fields []string

func (f fields) owner(left time.Duration) (*ownership.Owner, error) {
	if f[fieldOwner] == "" {
		return nil, nil
	}
	fence, err := parseFence(f[fieldOwner])
	if err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	o := &ownership.Owner{
		Fence:       fence,
		Phase:       ownership.Phase(f[fieldPhase]),
		Replica:     f[fieldReplica],
		Route:       f[fieldRoute],
		Claimed:     f.instant(fieldClaimed),
		Progress:    f.instant(fieldProgress),
		LeaseEnd:    f.instant(fieldLeaseEnd),
		Ceiling:     f.instant(fieldCeiling),
		Live:        left > 0,
		LeaseLeft:   left,
		Deaths:      f.count(fieldDeaths),
		TraceParent: f[fieldTrace],
	}
	o.Target.Covered = f.count(fieldCovered)
	if f[fieldDigest] == "" {
		return o, nil
	}
	if o.Target.Digest, err = ownership.ParseDigest(f[fieldDigest]); err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	return o, nil
}

func (f fields) cancel() (*ownership.Cancel, error) {
	if f[fieldCancel] == "" {
		return nil, nil
	}
	fence, err := parseFence(f[fieldOwner])
	if err != nil {
		return nil, fmt.Errorf("flag: %w", err)
	}
	return &ownership.Cancel{Fence: fence, Reason: f[fieldCancelReason], At: f.instant(fieldCancelAt)}, nil
}

func (f fields) state() (ownership.State, error) {
	s := ownership.State{
		CooldownUntil: f.instant(fieldCooldown),
		BlockedUntil:  f.instant(fieldBlocked),
		Streak:        f.count(fieldStreak),
		Strikes:       f.count(fieldStrikes),
		LastError:     f[fieldError],
	}
	if f[fieldCheckpoints] == "" {
		return s, nil
	}
	for line := range strings.SplitSeq(f[fieldCheckpoints], "\n") {
		c, err := parseCheckpoint(line)
		if err != nil {
			return ownership.State{}, err
		}
		s.Checkpoints = append(s.Checkpoints, c)
	}
	return s, nil
}

// count and instant read what only scripts write; what is no number is zero.
func (f fields) count(i int) int {
	n, err := strconv.Atoi(f[i])
	if err != nil {
		return 0
	}
	return n
}

func (f fields) instant(i int) time.Time {
	n, err := strconv.ParseInt(f[i], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return instant(n)
}

// instant is a time of the server; zero stands for none.
func instant(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}

// A checkpoint is one line of words between single spaces:
//
//	generation/attempt settled covered digest created tokens step route
//
// Lua writes the first five and never looks at the last three. The route is
// percent-encoded, so it holds no space and no line end; it may be empty.
const checkpointWords = 8

// checkpointRest is what commit passes to Lua for the last three words.
func checkpointRest(c ownership.Checkpoint) string {
	return strconv.Itoa(c.Tokens) + " " + strconv.FormatFloat(c.Step, 'g', -1, 64) + " " + url.QueryEscape(c.Route)
}

func parseCheckpoint(line string) (ownership.Checkpoint, error) {
	var c ownership.Checkpoint
	words := strings.Split(line, " ")
	if len(words) != checkpointWords {
		return c, fmt.Errorf("checkpoint: %d words, want %d", len(words), checkpointWords)
	}
	var err error
	if c.Fence, err = parseFence(words[0]); err != nil {
		return c, fmt.Errorf("checkpoint: %w", err)
	}
	c.Settled = words[1] == "1"
	if c.Covered, err = strconv.Atoi(words[2]); err != nil {
		return c, fmt.Errorf("checkpoint: covered: %w", err)
	}
	if c.Digest, err = ownership.ParseDigest(words[3]); err != nil {
		return c, fmt.Errorf("checkpoint: %w", err)
	}
	created, err := strconv.ParseInt(words[4], 10, 64)
	if err != nil {
		return c, fmt.Errorf("checkpoint: created: %w", err)
	}
	c.Created = instant(created)
	if c.Tokens, err = strconv.Atoi(words[5]); err != nil {
		return c, fmt.Errorf("checkpoint: tokens: %w", err)
	}
	if c.Step, err = strconv.ParseFloat(words[6], 64); err != nil {
		return c, fmt.Errorf("checkpoint: step: %w", err)
	}
	if c.Route, err = url.QueryUnescape(words[7]); err != nil {
		return c, fmt.Errorf("checkpoint: route: %w", err)
	}
	return c, nil
}

// parseFence reads what Fence.String wrote.
func parseFence(s string) (ownership.Fence, error) {
	generation, attempt, ok := strings.Cut(s, "/")
	n, err := strconv.ParseUint(generation, 10, 64)
	if !ok || err != nil {
		return ownership.Fence{}, fmt.Errorf("fence of %d characters has no generation", len(s))
	}
	return ownership.Fence{Generation: ownership.Generation(n), Attempt: ownership.AttemptID(attempt)}, nil
}

// span is a duration in whole milliseconds, never rounded down to nothing.
func span(d time.Duration) string {
	if d <= 0 {
		return "0"
	}
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10)
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// fenceText is the fence, or nothing for the zero fence.
func fenceText(f ownership.Fence) string {
	if f == (ownership.Fence{}) {
		return ""
	}
	return f.String()
}
