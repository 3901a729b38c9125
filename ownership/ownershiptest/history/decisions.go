package history

// Decisions are the answers, as Report counts them, that a run of some thousand
// calls gets from every store: each of the protocol's rules at least once.
func Decisions() []string {
	return []string{
		"claim claimed", "claim committed", "claim busy", "claim cancelled", "claim cooling",
		"claim superseded", "claim lost", "claim ended committed", "claim ended abandoned",
		"renew done", "renew raised: operator", "renew superseded", "renew lost", "renew ended committed",
		"commit done", "commit already", "commit raised: operator", "commit invalid", "commit superseded", "commit lost",
		"commit ended abandoned", "commit ended cancelled", "commit ended failed", "commit ended restored",
		"settle done", "settle already", "settle superseded", "settle lost", "settle ended working", "settle ended restored",
		"restore done", "restore already", "restore superseded", "restore lost", "restore ended settled",
		"finish done", "finish superseded", "finish lost", "finish ended committed",
		"raise done", "raise not current", "raise ended committed", "raise ended settled",
		"clear phase abandoned", "clear phase cancelled", "clear phase committed", "clear not current",
		"operator done", "operator not current", "forget done",
		"read done", "read dead owners", "read all checkpoints",
	}
}
