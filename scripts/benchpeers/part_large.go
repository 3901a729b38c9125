package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
)

// large is a conversation of a size and of a model of its own, so that the window
// can be chosen for it.
type large struct {
	model string
	size  int
	end   []message
	share float64 // of the trigger that its tokens take
}

// counted is a conversation over the length gate whose tokens are between the
// bounds and the trigger, so that each request is counted exactly.
func counted(size int) large {
	return large{model: fmt.Sprintf("gpt-4o-counted-%d", size>>10), size: size, share: 0.85, end: []message{question(placeTurn)}}
}

// folded are conversations over the trigger, whose fold is reused. In the one the
// user asks anew in each request, in the other an agent goes on by itself.
func folded(size int, asks bool) large {
	l := large{model: fmt.Sprintf("gpt-4o-rounds-%d", size>>10), size: size, share: 1.4}
	if asks {
		l.model = fmt.Sprintf("gpt-4o-asks-%d", size>>10)
		l.end = []message{question(placeTurn)}
		return l
	}
	call := map[string]any{"id": "call_" + placeTurn, "type": "function", "function": map[string]string{"name": "read_part", "arguments": `{"part":3}`}}
	l.end = []message{
		{Role: "user", Content: "Read part 3 again and tell me what it says of spans."},
		{Role: "assistant", Content: "", ToolCalls: []any{call}},
		{Role: "tool", Content: "Part 3, reading " + placeTurn + ": spans end with their attempt.", ToolCallID: "call_" + placeTurn},
	}
	return l
}

func (l large) body() []byte { return chatBody(l.model, l.size, false, l.end...) }

// tokens counts a conversation as the gateway does.
func (l large) tokens() (int, error) {
	body := l.body()
	e, err := chat.ReadEnvelope(body)
	if err != nil {
		return 0, fmt.Errorf("read the envelope of %s: %w", l.model, err)
	}
	r, err := chat.Parse(body, e)
	if err != nil {
		return 0, fmt.Errorf("parse %s: %w", l.model, err)
	}
	return int(compression.NewMemo(1 << 14).View(r).For(l.model).Total()), nil
}

// window is the flag that gives the model the window in which its conversation
// takes its share of the trigger.
func (l large) window() (flag string, tokens int, err error) {
	if tokens, err = l.tokens(); err != nil {
		return "", 0, err
	}
	usable := float64(tokens) / l.share / 0.80
	return fmt.Sprintf("%s=%d", l.model, int(usable/0.96)+1024), tokens, nil
}

func countedWindows(all ...large) (args []string, err error) {
	for _, l := range all {
		flag, _, err := l.window()
		if err != nil {
			return nil, err
		}
		args = append(args, "--window", flag)
	}
	return args, nil
}

// partLarge measures large requests: counted and passed on, and folded with a
// summary that is at hand.
func (b *bench) partLarge() (string, error) {
	up, err := b.startUpstream()
	if err != nil {
		return "", err
	}
	bare, err := b.startBare(up)
	if err != nil {
		return "", err
	}
	cases := []struct {
		what string
		l    large
		goal float64
		fold string
	}{
		{"512 KB counted", counted(512 << 10), 0.7, `none; reason="under"`},
		{"2 MB counted", counted(2 << 20), 0.6, `none; reason="under"`},
		{"512 KB, fold reused, rounds of tools", folded(512<<10, false), 0.7, "reused"},
		{"2 MB, fold reused, rounds of tools", folded(2<<20, false), 0.6, "reused"},
		{"512 KB, fold reused, a new question each time", folded(512<<10, true), 0.7, "reused"},
		{"2 MB, fold reused, a new question each time", folded(2<<20, true), 0.6, "reused"},
	}
	args := []string{"--summarizer-url", "http://" + up.addr + summaryPrefix + "/v1", "--memory", "2GiB"}
	tokens := map[string]int{}
	for _, c := range cases {
		flag, n, err := c.l.window()
		if err != nil {
			return "", err
		}
		args, tokens[c.l.model] = append(args, "--window", flag), n
	}
	g, err := b.startGateway("gateway", up, nil, args...)
	if err != nil {
		return "", err
	}
	var aims []aim
	for _, c := range cases {
		report := tokens[c.l.model]
		if c.fold == "reused" {
			if report, err = b.fold(g, c.l); err != nil {
				return "", fmt.Errorf("%s: %w", c.what, err)
			}
		}
		aims = append(aims, aim{what: c.what, goal: c.goal, bare: b.sending("bare", bare, c.l, report, ""), with: b.sending("gateway", g.process, c.l, report, c.fold)})
	}
	if err := b.compare(aims); err != nil {
		return "", err
	}
	text := b.aimTable(aims) + fmt.Sprintf("\nThe gateway's peak over this part was %d MB resident. %d summaries were written, all before the windows.\n",
		g.peakMemory()>>20, b.summaries(up))
	var with []*target
	for _, a := range aims {
		with = append(with, a.with)
	}
	return text, b.profiles("large", g, with...)
}

func (b *bench) summaries(up *process) int64 {
	s, err := statsOf(up)
	if err != nil {
		return -1
	}
	return s.Summaries
}

// sending is a target: a conversation whose upstream reports so many tokens.
func (b *bench) sending(name string, p *process, l large, tokens int, fold string) *target {
	body := l.body()
	t := b.through(name, p, body, want{body: answerJSON(tokens), fold: fold, counted: fold != ""})
	t.load.least, t.load.longest = atOnce, 6*b.window() // so that a slow one is measured, not called silent
	t.load.request = func(conn int) *request {
		return chatRequest(conn, p.addr, chatPath, map[string]string{headerTokens: strconv.Itoa(tokens)}, body)
	}
	return t
}

var after = regexp.MustCompile(`after=(\d+)`)

// fold brings the conversations of all connections so far that their fold is
// reused, and returns the tokens of what is then forwarded.
func (b *bench) fold(g *gateway, l large) (tokens int, err error) {
	body := l.body()
	for conn := range atOnce {
		r := chatRequest(conn, g.addr, chatPath, nil, body)
		c := &connection{addr: g.addr}
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			r.next()
			a, err := c.ask(r.raw)
			if err != nil {
				return 0, err
			}
			if a.status == http.StatusOK && strings.HasPrefix(a.fold, "reused") {
				if m := after.FindStringSubmatch(a.tokens); m != nil {
					tokens, _ = strconv.Atoi(m[1])
				}
				break
			}
			if time.Now().After(end) {
				return 0, fmt.Errorf("the fold is not reused: Foldgate-Fold is %q", a.fold)
			}
		}
		c.close()
	}
	return tokens, nil
}
