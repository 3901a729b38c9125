package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// wide lists what reaches beyond the page's width.
const wide = `[...document.querySelectorAll('body *')].filter((e) => { const b = e.getBoundingClientRect();
	return b.width > 0 && b.right > document.documentElement.clientWidth + 1 && !e.closest('.unseen, .skip, pre, textarea'); }).map((e) => e.outerHTML.slice(0, 120)).concat(
	document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['the page scrolls sideways'] : [])`

// Every view fits a phone, in both schemes, with hostile texts in it.
func TestPhone(t *testing.T) {
	w := newWorld(t)
	a := w.start(stalls)
	key := a.talk(talk("garden", 60))
	for _, l := range []look{phone, {width: 360, height: 780, dark: true, still: true}} {
		for _, fragment := range []string{"", "#/conversation/" + key, "#/fold"} {
			p := a.open(fragment, l)
			fits := func(what string) {
				t.Helper()
				var beyond []string
				p.js(wide, &beyond)
				for _, e := range beyond {
					t.Errorf("%s of %q: %s", what, fragment, e)
				}
			}
			p.says("h1", "Admin token")
			fits("the token")
			p.enter(adminToken)
			p.until("an answer", `document.getElementById('fresh').textContent && !document.querySelector('main').innerText.includes('Loading')`)
			p.expect("401")
			if fragment == "#/fold" {
				p.fill("#request", encoded(t, hostile()))
				p.fill("#window", "3000")
				p.button(".ask", "Fold it")
				p.until("a fold", `document.querySelector('.bands')`)
			}
			fits("the view")
			if fragment == "#/conversation/"+key {
				p.button("section.checkpoints", "Show the handoffs")
				p.says(".handoffs", "A plan")
				p.button(".changes", "Forget")
				p.says("dialog", "cannot be undone")
				fits("the dialog")
			}
		}
	}
}

// Both schemes are different, and in both the words can be read.
func TestSchemes(t *testing.T) {
	w := newWorld(t)
	a := w.start(stalls)
	a.talk(talk("garden", 60))
	p := a.signedIn("", desk)
	p.says("section.attempts", "superseded")
	grounds := map[string]bool{}
	for _, l := range []look{desk, {width: 1280, height: 900, dark: true}} {
		p.show(l)
		var ground string
		p.js(`getComputedStyle(document.body).backgroundColor`, &ground)
		grounds[ground] = true
		var faint []string
		p.js(contrast, &faint)
		for _, f := range faint {
			t.Errorf("dark %v: %s", l.dark, f)
		}
	}
	if len(grounds) != 2 {
		t.Errorf("the schemes have the grounds %v", grounds)
	}
	moves := `getComputedStyle(Object.assign(document.body.appendChild(document.createElement('span')), {className: 'pill live'}), '::before').animationName`
	var name string
	p.show(look{width: 1280, height: 900})
	p.js(moves, &name)
	if name == "none" {
		t.Error("nothing moves: there is nothing to still")
	}
	p.show(look{width: 1280, height: 900, still: true})
	p.js(moves, &name)
	if name != "none" {
		t.Errorf("with reduced motion %s moves", name)
	}
}

// contrast lists texts with less than 4.5 to 1 against the ground that they stand on.
const contrast = `(() => {
	const parse = (c) => (c.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
	const light = ([r, g, b]) => [r, g, b].map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; })
		.reduce((n, v, i) => n + v * [0.2126, 0.7152, 0.0722][i], 0);
	const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
	return [...document.querySelectorAll('body *')].filter((e) => e.offsetParent && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
		.filter((e) => !e.closest('.unseen, .skip, noscript, svg'))
		.map((e) => { const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))]; return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e]; })
		.filter(([ratio]) => ratio < 4.5).map(([ratio, e]) => ratio.toFixed(2) + ' ' + e.outerHTML.slice(0, 100));
})()`

// Everything by the keyboard alone: to the link of a conversation, into its dialog
// and out, and the focus is always to be seen.
func TestKeyboard(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick)
	key := a.talk(talk("garden", 60))
	p := a.open("", desk)
	p.until("the token is asked for", `document.activeElement.id === 'token'`)
	p.key(adminToken, kb.Enter)
	p.says("section.conversations", key[:10])
	p.expect("401")
	var walked []string
	reach := func(what, found string) {
		t.Helper()
		for range 60 {
			p.key(kb.Tab)
			var at string
			p.js(`(() => { const e = document.activeElement; return (e.textContent || e.id).trim().slice(0, 30); })()`, &at)
			walked = append(walked, at)
			if !p.is(`(() => { const e = document.activeElement; const s = getComputedStyle(e.matches('.choice input') ? e.nextElementSibling : e);
				return e === document.body || e.matches('.skip') || (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2); })()`) {
				t.Errorf("the focus on %q is not to be seen", at)
			}
			if p.is(found) {
				return
			}
		}
		t.Fatalf("%s is not reached by Tab: %q", what, walked)
	}
	reach("the conversation", `document.activeElement.matches('section.conversations a')`)
	p.key(kb.Enter)
	p.says(".key", key)
	if !p.is(`document.activeElement.tagName === 'H1'`) {
		t.Error("the focus does not go to the new view's heading")
	}
	p.says("section.checkpoints", "token")
	reach("forget", `document.activeElement.textContent.includes('Forget')`)
	p.key(kb.Enter)
	p.says("dialog", "cannot be undone")
	for range 4 { // it does not get out of the dialog
		p.key(kb.Tab)
		if !p.is(`document.activeElement.closest('dialog') || document.activeElement === document.body`) {
			t.Error("the focus leaves the dialog")
		}
	}
	p.key(kb.Escape)
	p.until("the dialog gone", `!document.querySelector('dialog')`)
	if !p.is(`document.activeElement.textContent.includes('Forget')`) {
		t.Error("the focus is not back on the button")
	}
	p.key(kb.Enter)
	reach("the danger", `document.activeElement.matches('dialog .danger')`)
	p.key(kb.Enter)
	p.says(".told", "forgotten")
	a.until(key, "forgotten", func(c map[string]any) bool { return c["owner"] == nil })
}

// hostile is a request whose every text is one that a careless page would take for
// something else.
func hostile() map[string]any {
	evil := "<script>alert(1)</script><img src=x onerror=alert(2)> \u202egnp.exe\u202c \u0645\u0631\u062d\u0628\u0627 {{7*7}} ${7*7} "
	messages := []map[string]any{{"role": "system", "content": evil}}
	for i := range 30 {
		messages = append(messages,
			map[string]any{"role": "user", "content": fmt.Sprintf("%d %s", i, evil)},
			map[string]any{"role": "assistant", "content": fmt.Sprintf("%d </p></article><style>*{display:none}</style> %s", i, strings.Repeat("x", 120))})
	}
	return map[string]any{"model": "<svg onload=alert(3)>" + strings.Repeat("m", 300), "messages": append(messages,
		map[string]any{"role": "user", "content": evil + strings.Repeat("long ", 2000)},
		map[string]any{"role": "assistant", "content": []map[string]any{{"type": "<b>bold</b>", "text": evil}}},
		map[string]any{"role": "user", "content": "and now? " + evil})}
}
