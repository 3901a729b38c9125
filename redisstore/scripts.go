package redisstore

import (
	"embed"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// library holds every script, compiled once per store: go-redis sends a digest
// and, only when the server does not know it, the text.
type library struct {
	read, claim, renew, commit, settle, restore, finish, raise, clear *script
	restoreOperator, forget, saveLearned                              *script
}

// script is one operation. args is how many ARGV it is passed, the two common
// ones included.
type script struct {
	name string
	args int
	*redis.Script
}

func newLibrary() *library {
	shared := preamble() + text("_prelude")
	operation := func(name string, args int) *script {
		return &script{name: name, args: args, Script: redis.NewScript(shared + text(name))}
	}
	return &library{
		read:            operation("read", 3),
		claim:           operation("claim", 12),
		renew:           operation("renew", 5),
		commit:          operation("commit", 8),
		settle:          operation("settle", 3),
		restore:         operation("restore", 7),
		finish:          operation("finish", 7),
		raise:           operation("raise", 4),
		clear:           operation("clear", 3),
		restoreOperator: operation("restore_operator", 4),
		forget:          operation("forget", 2),
		saveLearned:     &script{name: "learned_save", args: 6, Script: redis.NewScript(text("learned_save"))},
	}
}

// all lists the scripts, for tests that hold each against its header.
func (l *library) all() []*script {
	return []*script{
		l.read, l.claim, l.renew, l.commit, l.settle, l.restore, l.finish, l.raise, l.clear,
		l.restoreOperator, l.forget, l.saveLearned,
	}
}

// text is an embedded file. A missing one cannot be built: the names above are
// those of the folder, and every test makes a library.
func text(name string) string {
	b, err := scriptFiles.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic("redisstore: " + err.Error())
	}
	return string(b)
}

// preamble makes the tables that Lua and Go share, so that neither a reply code
// nor a limit nor a field is written down twice.
func preamble() string {
	var b strings.Builder
	b.WriteString("local REPLY = {")
	for code, name := range replyNames {
		if name != "" {
			fmt.Fprintf(&b, "%s = %d, ", name, code)
		}
	}
	b.WriteString("}\nlocal LIMIT = {")
	for _, l := range []struct {
		name  string
		value int64
	}{
		{"rung1", ownership.FirstRung.Milliseconds()},
		{"rung2", ownership.SecondRung.Milliseconds()},
		{"rung3", ownership.ThirdRung.Milliseconds()},
		{"cooldown", ownership.MaxCooldown.Milliseconds()},
		{"block", ownership.BlockFor.Milliseconds()},
		{"strikes", ownership.MaxStrikes},
		{"deaths", ownership.MaxDeaths},
		{"checkpoints", ownership.MaxCheckpoints},
	} {
		fmt.Fprintf(&b, "%s = %d, ", l.name, l.value)
	}
	fmt.Fprintf(&b, "death_class = '%s'}\nlocal FIELDS = {", ownership.DeathClass)
	for _, name := range fieldNames {
		fmt.Fprintf(&b, "'%s', ", name)
	}
	b.WriteString("}\n")
	return b.String()
}
