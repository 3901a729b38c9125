package browser_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// Cancel, from another replica's page than that which works: the dialog names what
// is lost, Escape leaves all as it is, and the store has the flag and the reason.
func TestCancel(t *testing.T) {
	w := newWorld(t)
	a, b := w.start(quick), w.start(slow, "compression: {wait: 1s}")
	key := b.talk(talk("pond", 60)) // folded without a model; the attempt goes on
	b.until(key, "working", func(c map[string]any) bool { return phase(c) == "working" })
	p := a.signedIn("#/conversation/"+key, desk)
	p.says("section.state", "working")
	p.says("section.course", "Not an attempt of this replica")
	p.button(".changes", "Cancel the attempt")
	p.says("dialog", "That work is lost")
	p.says("dialog", "by route \u2068slow\u2069")
	if !p.is(`document.activeElement.textContent === 'Leave it as it is'`) {
		t.Error("the dialog does not begin with what changes nothing")
	}
	p.key(kb.Escape)
	p.until("the dialog gone", `!document.querySelector('dialog')`)
	if c := b.until(key, "read", func(map[string]any) bool { return true }); c["cancel"] != nil {
		t.Errorf("Escape raised the flag: %v", c["cancel"])
	}
	if !p.is(`document.activeElement.textContent.includes('Cancel the attempt')`) {
		t.Error("the focus is not back where the dialog was opened")
	}
	p.button(".changes", "Cancel the attempt")
	p.click("#reason")
	p.key("<img src=x onerror=alert(1)>")
	p.button("dialog", "Cancel the attempt")
	p.says(".told", "The cancel flag is raised for generation 1")
	b.until(key, "cancelled", func(c map[string]any) bool { return phase(c) == "cancelled" })
	p.says("section.state", "cancelled")
	p.says(".changes", "No attempt works.")
	other := b.signedIn("#/conversation/"+key, desk)
	other.says("section.course", "<img src=x onerror=alert(1)>")
	if other.is(`document.querySelector('main img')`) {
		t.Error("a reason became an element")
	}
}

// Restore and forget, and what the store has then; a change that comes too late is
// told in words.
func TestRestoreAndForget(t *testing.T) {
	w := newWorld(t)
	a, b := w.start(quick), w.start(quick)
	key := a.talk(talk("garden", 60))
	a.talk(talk("garden", 62))
	a.until(key, "settled", func(c map[string]any) bool { return phase(c) == "settled" && checkpoints(c) == 1 })
	p := b.signedIn("#/conversation/"+key, desk)
	p.says("section.checkpoints", "settled")
	p.button("section.checkpoints", "Show the handoffs")
	p.says(".handoffs pre", "A plan is being made")
	p.button(".changes", "Restore")
	p.says("dialog", "The newest checkpoint is taken away")
	p.says("dialog", "There is none before it")
	p.button("dialog", "Take it away")
	p.says(".told", "Restored under generation 2")
	c := a.until(key, "restored", func(c map[string]any) bool { return checkpoints(c) == 0 })
	if c["generation"] != 2.0 {
		t.Errorf("got generation %v", c["generation"])
	}
	p.says("section.course", "An operator’s")
	p.says(".changes", "There is no checkpoint to take back.")
	p.until("a button that is off", `[...document.querySelectorAll('.changes button')].find((b) => b.textContent.includes('Restore')).getAttribute('aria-disabled') === 'true'`)

	p.button(".changes", "Forget")
	p.says("dialog", "This cannot be undone")
	p.says("dialog", "generations go on after 2")
	p.button("dialog", "Forget it")
	p.says(".told", "forgotten, but for its counter")
	c = a.until(key, "forgotten", func(c map[string]any) bool { return c["owner"] == nil })
	if c["generation"] != 3.0 || checkpoints(c) != 0 {
		t.Errorf("got %v", c)
	}
	p.says("section.state", "nobody")
	p.says(".changes", "There is nothing but the counter.")
}

// The owner changes while the dialog is open: the change is refused, and says why.
func TestChangeThatComesTooLate(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick)
	key := a.talk(talk("garden", 60))
	p := a.signedIn("#/conversation/"+key, desk)
	p.says("section.checkpoints", "token")
	p.button(".changes", "Restore")
	p.says("dialog", "taken away")
	a.talk(talk("garden", 140)) // another attempt, of a newer generation
	a.until(key, "claimed anew", func(c map[string]any) bool { return c["generation"] == 2.0 && checkpoints(c) == 2 })
	p.button("dialog", "Take it away")
	p.says("dialog .wrong", "The owner is another one, or there is none. (409 not_current)")
	p.expect("409")
	p.key(kb.Escape)
	if c := a.until(key, "read", func(map[string]any) bool { return true }); checkpoints(c) != 2 {
		t.Errorf("a change that was refused changed something: %v", c)
	}
}

// Without admin_token nothing is asked for, and what shows or changes content is off.
func TestWithoutAToken(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick, `admin_token: ""`)
	key, err := a.say(context.WithoutCancel(t.Context()), talk("garden", 60))
	if err != nil {
		t.Fatal(err)
	}
	p := a.open("#/conversation/"+key, desk)
	p.says("section.checkpoints", "settled")
	if n := strings.Count(p.text("section.state"), "Needs admin_token to be configured."); n != 2 {
		t.Errorf("%d changes say that they need a token", n)
	}
	p.says("section.checkpoints", "Needs admin_token")
	p.button(".changes", "Forget")
	p.button("section.checkpoints", "Show the handoffs")
	if p.is(`document.querySelector('dialog, .handoffs pre')`) {
		t.Error("what is off can be pressed")
	}
}
