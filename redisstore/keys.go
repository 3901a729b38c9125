package redisstore

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/foldgate/foldgate/ownership"
)

// prefix begins every name; its number is the version of the layout.
const prefix = "foldgate:1:"

// learnedChannel announces which scope's learned values changed.
const learnedChannel = prefix + "learned"

// names are the names of one conversation. The hash tag puts them in one slot.
type names struct {
	gen          string
	conversation string
	events       string
}

func namesOf(key ownership.Key) names {
	tagged := prefix + "{" + string(key) + "}:"
	return names{gen: tagged + "gen", conversation: tagged + "conversation", events: tagged + "events"}
}

// keys are the names in the order of KEYS in every script, which makes the
// channel's from them.
func (n names) keys() []string { return []string{n.gen, n.conversation} }

// eventsOf is the channel of a conversation.
func eventsOf(key ownership.Key) string { return namesOf(key).events }

// learnedKey is the name of a scope's learned values.
func learnedKey(scope string) string { return prefix + "learned:{" + ScopeHash(scope) + "}" }

// ScopeHash is the form in which a scope of learned values appears in key names
// and announcements: 40 hexadecimal digits, never the scope itself.
func ScopeHash(scope string) string {
	sum := sha256.Sum256([]byte(scope))
	return hex.EncodeToString(sum[:20])
}
