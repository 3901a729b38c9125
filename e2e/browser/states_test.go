package browser_test

import (
	"strings"
	"syscall"
	"testing"
)

// Wrong, right, dropped, and forgotten by a reload; never kept, never in an address.
func TestToken(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick)
	p := a.open("", desk)
	p.says("h1", "Admin token")
	if p.is(`document.querySelector('section')`) || p.text("#who") != "" {
		t.Error("something is shown before the token")
	}
	p.enter("a wrong one")
	p.says("#token-wrong", "not the right one")
	if !p.is(`document.activeElement.id === 'token'`) {
		t.Error("the focus is not in the field")
	}
	p.enter(adminToken)
	p.says("h1", "Overview")
	p.until("a button to drop it", `!document.getElementById('drop-token').hidden`)
	var kept string
	p.js(`JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, document.documentElement.outerHTML])`, &kept)
	if strings.Contains(kept, adminToken) {
		t.Errorf("the token is kept: %.300s", kept)
	}
	p.js(`location.reload()`, nil)
	p.says("h1", "Admin token")
	p.enter(adminToken)
	p.says("h1", "Overview")
	p.until("a button to drop it", `!document.getElementById('drop-token').hidden`)
	p.click("#drop-token")
	p.says("h1", "Admin token")
	p.expect("401")
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, asked := range p.asked {
		if strings.Contains(asked, "token=") || strings.Contains(asked, "tests") {
			t.Errorf("the token is in an address: %s", asked)
		}
	}
}

// The store goes down and comes back; what is shown says so, and stays.
func TestStoreDown(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick)
	key := a.talk(talk("garden", 60))
	p := a.signedIn("#/conversation/"+key, desk)
	p.says("section.checkpoints", "token")
	w.redis.Kill()
	p.says(".banner.store", "The store is down")
	p.says(".changes", "The store’s answer is missing.")
	p.says("section.checkpoints", "token")
	p.js(`location.hash = '#/'`, nil)
	p.says("section.conversations", "not known")
	w.redis.Restart()
	p.until("the banner gone", `!document.querySelector('.banner.store')`)
	p.expect("503")
}

// A replica that drains says so; one that is gone is asked less and less often, and
// what is shown is said to be old.
func TestReplicaLeaves(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick, "drain_delay: 6s")
	p := a.signedIn("", desk)
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.says(".banner.draining", "is about to leave")
	p.says("#parts", "draining")
	p.says(".banner.gone", "This replica does not answer. What is shown is of")
	p.says(".banner.gone", "Next try at")
	p.expect("ERR_CONNECTION")
	p.expect("ERR_EMPTY_RESPONSE")
	p.expect("503")
}

// While the page is hidden nothing is asked.
func TestHiddenPageIsSilent(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick)
	p := a.signedIn("", desk)
	p.js(`Object.defineProperty(document, 'hidden', {configurable: true, get: () => window.away === true});
		window.away = true; document.dispatchEvent(new Event('visibilitychange'))`, nil)
	count := func() (n int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.asked)
	}
	p.until("the last question answered", `new Promise((r) => setTimeout(() => r(true), 1500))`)
	before := count()
	p.until("time passed", `new Promise((r) => setTimeout(() => r(true), 5000))`)
	if asked := count() - before; asked > 0 {
		t.Errorf("%d questions while hidden", asked)
	}
	p.js(`window.away = false; document.dispatchEvent(new Event('visibilitychange'))`, nil)
	p.until("asked again at once", `new Promise((r) => setTimeout(() => r(true), 1000))`)
	if count() == before {
		t.Error("nothing is asked after it was shown again")
	}
}
