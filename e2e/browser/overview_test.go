package browser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// The overview shows what this replica did, and what it says is what the API says.
func TestOverview(t *testing.T) {
	w := newWorld(t)
	a := w.start(stalls)
	p := a.signedIn("", desk)
	for _, empty := range []string{"No attempt yet.", "has touched no conversation yet", "No conversation cools down", "No write was refused", "No request was counted"} {
		p.says("main", empty)
	}
	key := a.talk(talk("garden", 60)) // the first route stalls, the second commits
	a.talk(talk("garden", 62))
	a.until(key, "settled", func(c map[string]any) bool { return phase(c) == "settled" })
	p.says("#conversations ~ .table, section.conversations", key[:10])
	p.says("section.conversations", "reused")
	p.says("section.conversations", "settled")
	p.says("section.attempts", "superseded")
	p.says("section.attempts", "committed")
	_, c := a.api("/v1/conversations/" + key)
	var generation string
	p.js(`document.querySelector('section.conversations tbody tr td:nth-child(6)').textContent`, &generation)
	if generation != fmt.Sprint(c["generation"]) {
		t.Errorf("the page says generation %s, the API %v", generation, c["generation"])
	}
	p.says("figcaption", "2 requests counted")
	if !p.is(`document.querySelectorAll('.chart rect.before').length > 0 && document.querySelectorAll('.chart rect.after').length > 0`) {
		t.Error("the chart has no bars")
	}
	p.click(`.choice label:nth-of-type(3)`)
	p.says("figcaption", "Last hour")
	for _, part := range []string{"store\nok", "summarizer\nok", "upstream\nok", "replica\nready"} {
		if !strings.Contains(strings.ReplaceAll(p.text("#parts"), " ", "\n"), part) {
			t.Errorf("health says %q, not %q", p.text("#parts"), part)
		}
	}
	p.click(`section.conversations tbody a`)
	p.says("h1", "Conversation")
	p.says(".key", key)
}

// A replica that was paused past its lease comes back: what it writes is refused, and
// its page says so.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	a, b := w.start(quick), w.start(slow, "compression: {wait: 1s}")
	w.overtake(b, a, "attic")
	p := b.signedIn("", desk)
	p.says("section.refusals", "superseded")
	p.says("section.refusals", "The last one")
	p.says(".tiles", "stale writes that changed nothing")
	p.says("section.attempts", "superseded")
	_, r := b.api("/v1/replica")
	for _, refusal := range r["totals"].(map[string]any)["refusals"].([]any) {
		p.says("section.refusals", refusal.(map[string]any)["operation"].(string))
	}
}

// What cools down is shown on every replica that touched it.
func TestCooldowns(t *testing.T) {
	w := newWorld(t)
	c := w.start(broken, "compression: {wait: 2s}")
	key := c.talk(talk("attic", 60))
	p := c.signedIn("", desk)
	p.says("section.cooling", key[:10])
	p.says("section.cooling", "cooling")
	p.says("section.cooling", "status_500")
	p.says("#parts", "down since")
}

// A conversation is found by its key, pasted as the header has it.
func TestFind(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick)
	p := a.signedIn("", desk)
	p.click("#find")
	p.key("nonsense")
	p.button(".find", "Open")
	p.says("#find-wrong", "40 hexadecimal digits")
	p.fill("#find", `"`+strings.Repeat("ab", 20)+`"`)
	p.button(".find", "Open")
	p.says("h1", "Conversation")
	p.says("section.state", "No such conversation")
	p.says("section.course", "No attempt is known")
	p.expect("404")
	p.js(`location.hash = '#/conversation/<script>alert(1)</script>'`, nil)
	p.says("h1", "No conversation")
}

// Long lists end somewhere, and say so.
func TestListsAreBounded(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick, "mode: observe")
	for i := range 40 {
		if _, err := a.say(context.WithoutCancel(t.Context()), talk(fmt.Sprint("plan ", i), 40)); err != nil {
			t.Fatal(err)
		}
	}
	p := a.signedIn("", desk)
	p.says("section.conversations", "15 more are not shown.")
	if n := 0; true {
		p.js(`document.querySelectorAll('section.conversations tbody tr').length`, &n)
		if n != 25 {
			t.Errorf("%d rows are shown", n)
		}
	}
}
