package redisstore

import "github.com/foldgate/foldgate/ownership"

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
