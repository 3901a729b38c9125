package browser_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var shoot = flag.Bool("screenshots", false, "write docs/screenshots anew; it takes a minute and a half")

// TestScreenshots writes the pictures of the page in docs/screenshots. What they show
// happened: two replicas, a model, and a script of requests.
func TestScreenshots(t *testing.T) {
	if !*shoot {
		t.Skip("it runs with -screenshots")
	}
	w := newWorld(t)
	a := w.start(stalls, "compression: {wait: 3s}")
	b := w.start(slow, "compression: {wait: 1s}")
	c := w.start(broken, "compression: {wait: 1s}")
	garden := script(t, w, a, b, c)
	views := []struct{ name, fragment, ready string }{
		{"overview", "#/", `document.querySelectorAll('#attempts ~ * tbody tr, section.attempts tbody tr').length > 3`},
		{"conversation", "#/conversation/" + garden, `document.querySelectorAll('.timeline li').length > 1`},
		{"fold", "#/fold", `document.getElementById('request')`},
	}
	looks := map[string]look{
		"light": {width: 1280, height: 900}, "dark": {width: 1280, height: 900, dark: true}, "phone": phone,
	}
	for _, v := range views {
		p := a.signedIn(v.fragment, desk)
		p.until(v.name, v.ready)
		if v.name == "fold" {
			p.fill("#request", encoded(t, hard()))
			p.fill("#window", "1600")
			p.button(".ask", "Fold it")
			p.until("a fold", `document.querySelector('.bands')`)
			p.js(`document.querySelector('.outcome').scrollIntoView()`, nil)
		}
		for name, l := range looks {
			p.show(l)
			p.settle()
			p.shoot(filepath.Join("..", "..", "docs", "screenshots", v.name+"-"+name+".png"))
		}
	}
}

// script is a minute of an ordinary evening.
func script(t *testing.T, w *world, a, b, c *replica) (garden string) {
	t.Helper()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	end := time.Now().Add(65 * time.Second)
	var others sync.WaitGroup
	defer others.Wait()
	w.overtake(a, b, "harbour wall")
	for turns := 40; time.Now().Before(end); turns++ {
		garden = a.talk(talk("garden", turns))
		others.Go(func() { _, _ = a.say(context.WithoutCancel(t.Context()), talk("boat", 20+turns)) })
		if turns%4 == 0 {
			others.Go(func() { _, _ = a.say(context.WithoutCancel(t.Context()), talk("harbour", turns-10)) })
		}
		<-again.C
	}
	c.talk(talk("attic", 70))
	a.talk(talk("attic", 71))
	b.talk(talk("pond", 70))
	a.talk(talk("pond", 70))
	return garden
}

// settle waits until the page has asked once more, in its new form.
func (p *page) settle() {
	p.t.Helper()
	var was string
	p.js(`document.getElementById('fresh').textContent`, &was)
	p.until("a new answer", `document.getElementById('fresh').textContent !== `+quote(was))
}

// shoot writes what is seen, and keeps it small.
func (p *page) shoot(name string) {
	p.t.Helper()
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	p.must(err)
	if len(png) >= 200_000 {
		p.t.Errorf("%s has %d bytes", name, len(png))
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
