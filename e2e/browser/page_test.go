package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chromium is the browser of all tests of a run; each test has a context of its own
// in it, with nothing of the others.
var chromium struct {
	sync.Mutex
	ctx context.Context
	end []context.CancelFunc
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, end := range slices.Backward(chromium.end) {
		end()
	}
	_ = os.RemoveAll(binaries)
	os.Exit(code)
}

// browserPath finds Chromium by the names that it goes by.
func browserPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// requireBrowser skips a test where there is no browser, and fails it where there
// must be one.
func requireBrowser(t *testing.T) {
	t.Helper()
	if browserPath() != "" {
		return
	}
	for _, name := range []string{"CI", "FOLDGATE_REQUIRE_BROWSER"} {
		if v := os.Getenv(name); v != "" && v != "0" && v != "false" {
			t.Fatal("chromium is not installed (Debian, Ubuntu: apt-get install chromium)")
		}
	}
	t.Skip("chromium is not installed (Debian, Ubuntu: apt-get install chromium)")
}

func browser(t *testing.T) context.Context {
	t.Helper()
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.ctx != nil {
		return chromium.ctx
	}
	folder, err := os.MkdirTemp("", "foldgate-chromium")
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browserPath()), chromedp.UserDataDir(folder),
		chromedp.NoSandbox, // it runs as root in containers, and sees loopback only
		chromedp.DisableGPU, chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("lang", "en"), chromedp.Flag("font-render-hinting", "none"),
	)
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	chromium.ctx = ctx
	chromium.end = []context.CancelFunc{func() { _ = os.RemoveAll(folder) }, endAllocator, end}
	return ctx
}

// page is one tab. What goes wrong in it fails the test at its end.
type page struct {
	t      *testing.T
	ctx    context.Context
	origin string

	mu      sync.Mutex
	wrong   []string
	asked   []string // addresses
	pending []string // failed loads that a test may expect
}

// look is how a page is shown.
type look struct {
	width, height int64
	dark          bool
	still         bool // reduced motion
	scale         float64
}

var (
	desk  = look{width: 1280, height: 900}
	phone = look{width: 360, height: 780, scale: 2}
)

// open shows the page of a replica, at a fragment.
func (r *replica) open(fragment string, l look) *page {
	r.t.Helper()
	ctx, end := chromedp.NewContext(browser(r.t), chromedp.WithNewBrowserContext())
	r.t.Cleanup(end)
	p := &page{t: r.t, ctx: ctx, origin: r.admin}
	r.t.Cleanup(p.judge)
	p.must(chromedp.Listen(ctx, p.listen))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	p.must(err)
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable, audits.Enable} {
		_, err := chromedp.Call(ctx, enable, cdp.Empty{})
		p.must(err)
	}
	p.show(l)
	p.run(chromedp.Navigate(r.admin + "/" + fragment))
	return p
}

// show changes how the page is shown.
func (p *page) show(l look) {
	p.t.Helper()
	scheme, motion := "light", "no-preference"
	if l.dark {
		scheme = "dark"
	}
	if l.still {
		motion = "reduce"
	}
	if l.scale == 0 {
		l.scale = 1
	}
	p.run(chromedp.EmulateViewport(l.width, l.height, chromedp.EmulateScale(l.scale)))
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion},
	}})
	p.must(err)
}

func (p *page) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("the browser: %v", err)
	}
}

func (p *page) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	p.must(chromedp.Do(ctx, actions...))
}

// listen notes what must not be.
func (p *page) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, e.Request.Method+" "+e.Request.URL)
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme+"://"+u.Host != p.origin {
			p.wrong = append(p.wrong, "a request to another origin: "+e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		p.wrong = append(p.wrong, fmt.Sprintf("an exception: %+v", *e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		for _, a := range e.Args {
			p.wrong = append(p.wrong, fmt.Sprintf("the console says %s: %s %s", e.Type, a.Value, a.Description))
		}
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceNetwork {
			p.pending = append(p.pending, e.Entry.Text+" "+e.Entry.URL)
		} else {
			p.wrong = append(p.wrong, fmt.Sprintf("the browser says %s: %s", e.Entry.Level, e.Entry.Text))
		}
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			p.wrong = append(p.wrong, fmt.Sprintf("a breach of the policy: %+v", e.Issue.Details.ContentSecurityPolicyIssueDetails))
		}
	}
}

// expect takes failed loads that hold the text for what a test has made happen.
func (p *page) expect(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = slices.DeleteFunc(p.pending, func(s string) bool { return strings.Contains(s, text) })
}

func (p *page) judge() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range slices.Concat(p.wrong, p.pending) {
		p.t.Error(w)
	}
	if len(p.asked) == 0 {
		p.t.Error("the page asked for nothing: nothing was watched")
	}
}

// js evaluates an expression and decodes what it comes to.
func (p *page) js(expression string, into any) {
	p.t.Helper()
	yes := true
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	got, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, ReturnByValue: &yes, AwaitPromise: &yes, UserGesture: &yes,
	})
	p.must(err)
	if got.ExceptionDetails != nil {
		p.t.Fatalf("%s: %v", expression, got.ExceptionDetails)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(got.Result.Value, into); err != nil {
		p.t.Fatalf("%s: %v in %s", expression, err, got.Result.Value)
	}
}

func (p *page) is(expression string) (yes bool) {
	p.t.Helper()
	p.js("Boolean("+expression+")", &yes)
	return yes
}

// until waits for an expression to hold. The page's policy forbids the evaluation of
// texts inside it, so it is asked from outside.
func (p *page) until(what, expression string) {
	p.t.Helper()
	limit, again := time.After(patience), time.NewTicker(30*time.Millisecond)
	defer again.Stop()
	for !p.is(expression) {
		select {
		case <-again.C:
		case <-limit:
			p.t.Fatalf("never %s: %s\nthe page says: %s", what, expression, p.text("body"))
		}
	}
}

// text is what an element shows.
func (p *page) text(selector string) (text string) {
	p.t.Helper()
	p.js(`document.querySelector(`+quote(selector)+`)?.innerText ?? ''`, &text)
	return text
}

// says waits until an element shows a text.
func (p *page) says(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q in %s", text, selector),
		`(document.querySelector(`+quote(selector)+`)?.innerText ?? '').includes(`+quote(text)+`)`)
}

// click is a real one, by the mouse: what lies below something else is not hit.
func (p *page) click(selector string) {
	p.t.Helper()
	p.clickOn(`document.querySelector(` + quote(selector) + `)`)
}

// button clicks the one that says so.
func (p *page) button(within, text string) {
	p.t.Helper()
	p.clickOn(`[...document.querySelectorAll(` + quote(within+" button") + `)].find((b) => b.offsetParent && b.textContent.includes(` + quote(text) + `))`)
}

func (p *page) clickOn(find string) {
	p.t.Helper()
	p.until("there to be clicked", `(() => { const e = `+find+`; if (!e) return false; e.scrollIntoView({block: 'center'});
		const b = e.getBoundingClientRect(); return e.contains(document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2)); })()`)
	var at struct{ X, Y float64 }
	p.js(`(() => { const b = (`+find+`).getBoundingClientRect(); return {X: b.x + b.width / 2, Y: b.y + b.height / 2}; })()`, &at)
	p.run(chromedp.MouseClickXY(at.X, at.Y))
}

// key presses keys, one after another.
func (p *page) key(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.run(chromedp.KeyEvent(k))
	}
}

// enter gives the token to the page that asks for it.
func (p *page) enter(token string) {
	p.t.Helper()
	p.until("the token is asked for", `document.getElementById('token')`)
	p.click("#token")
	p.key(token, kb.Enter)
}

// signedIn is open, with the right token.
func (r *replica) signedIn(fragment string, l look) *page {
	r.t.Helper()
	p := r.open(fragment, l)
	p.enter(adminToken)
	p.until("an answer", `document.getElementById('fresh').textContent`)
	p.expect("401")
	return p
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always can be; JSON is JavaScript
	return string(b)
}
