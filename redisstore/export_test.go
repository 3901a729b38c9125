package redisstore

import (
	"cmp"
	"crypto/x509"

	"github.com/foldgate/foldgate/ownership"
)

// OpenTrusting is Open by other roots than the system's.
func OpenTrusting(c Config, roots *x509.CertPool) (*Store, error) {
	where, err := ParseURL(c.URL)
	if err != nil {
		return nil, err
	}
	where.TLSConfig.RootCAs = roots
	c.DialTimeout, c.Timeout = cmp.Or(c.DialTimeout, DefaultDialTimeout), cmp.Or(c.Timeout, DefaultTimeout)
	s := New(connect(where, c), Options{Timeout: c.Timeout})
	s.owned, s.witnessed = true, true
	return s, nil
}

// ScriptInfo is what tests see of a script.
type ScriptInfo struct {
	Name, Text string
	Keys, Args int
}

// Scripts lists every script with the counts that Go passes.
func Scripts() []ScriptInfo {
	var out []ScriptInfo
	for _, s := range newLibrary().all() {
		keys := len(namesOf("").keys())
		if s.name == "learned_save" {
			keys = 1
		}
		out = append(out, ScriptInfo{Name: s.name, Text: text(s.name), Keys: keys, Args: s.args})
	}
	return out
}

// ScriptFiles lists the names of the embedded files.
func ScriptFiles() ([]string, error) {
	entries, err := scriptFiles.ReadDir("scripts")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// ReplyNames is what scripts call the replies.
func ReplyNames() []string { return replyNames[1:] }

// NamesOf lists the keys of a conversation.
func NamesOf(key ownership.Key) []string { return namesOf(key).keys() }

// ParseCheckpoint and CheckpointRest are the two halves of a checkpoint's line.
func ParseCheckpoint(line string) (ownership.Checkpoint, error) { return parseCheckpoint(line) }

// CheckpointRest is what Go writes of a checkpoint's line.
func CheckpointRest(c ownership.Checkpoint) string { return checkpointRest(c) }

// Sealed and Opened are the two ways of a handoff.
func Sealed(k *Keys, handoff []byte, key ownership.Key, f ownership.Fence, t ownership.Target) ([]byte, error) {
	return k.sealed(handoff, slot{key, f, t})
}

// Opened is the way back.
func Opened(k *Keys, stored []byte, key ownership.Key, f ownership.Fence, t ownership.Target) ([]byte, error) {
	handoff, _, err := k.opened(stored, slot{key, f, t})
	return handoff, err
}
