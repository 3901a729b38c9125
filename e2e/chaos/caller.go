package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// question is one chat request.
type question struct {
	conv   *conversation
	turns  int
	stream bool
	plan   string // what the upstream is to do
	bypass bool   // Foldgate is told not to look
}

// Kinds of an outcome. What they mean for a scenario is for it to say.
const (
	kindAnswered = "200"                 // the whole answer to this very request
	kindCut      = "cut off"             // a head, and then an end that no reader takes for one
	kindShort    = "ended early"         // an end that looks like one, of half an answer
	kindNone     = "no answer"           // no head
	kindInStream = "200, error in it"    // an error object in the stream
	kindForeign  = "not its own answer"  // wrong whatever the fault
	kindHead     = "implausible headers" // wrong whatever the fault
)

// outcome is what a caller saw.
type outcome struct {
	kind   string // one of the kinds, "STATUS code" of the gateway's own error, or "STATUS as the upstream sent it"
	detail string
	fold   string // Foldgate-Fold's first word
	reason string
	bytes  int64
	took   time.Duration
}

func (o outcome) ok() bool { return o.kind == kindAnswered }

// caller asks replicas, checks what comes back, and keeps connections as clients do.
type caller struct{ http http.Client }

func newCaller() *caller {
	return &caller{http.Client{
		Timeout: 2 * patience,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 4096, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// ask sends one question to the replica at that address and judges the answer.
func (c *caller) ask(ctx context.Context, addr, nonce string, q question) (o outcome) {
	began := time.Now()
	defer func() { o.took = time.Since(began) }()
	req, err := newRequest(ctx, addr, nonce, q, bytes.NewReader(q.conv.body(q.turns, q.stream)))
	if err != nil {
		return outcome{kind: kindNone, detail: err.Error()}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return outcome{kind: kindNone, detail: err.Error()}
	}
	defer func() { _ = res.Body.Close() }()
	return judgeAnswer(res, nonce, q)
}

func newRequest(ctx context.Context, addr, nonce string, q question, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/v1/chat/completions", body)
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Authorization", q.conv.credential())
	h.Set(headNonce, nonce)
	h.Set(headMark, q.conv.mark())
	h.Set(headTurns, strconv.Itoa(q.turns))
	h.Set(headPlan, q.plan)
	if q.conv.named {
		h.Set("Foldgate-Conversation", q.conv.name())
	}
	if q.bypass {
		h.Set("Foldgate-Bypass", "?1")
	}
	return req, nil
}

func judgeAnswer(res *http.Response, nonce string, q question) (o outcome) {
	o.fold, o.reason, o.detail = headers(res.Header, q)
	if o.detail != "" {
		o.kind = kindHead
		return o
	}
	if q.plan == "huge" && res.StatusCode == http.StatusOK {
		return judgeHuge(res.Body, o)
	}
	raw, err := io.ReadAll(res.Body)
	o.bytes = int64(len(raw))
	switch {
	case err != nil:
		o.kind, o.detail = kindCut, err.Error()
	case res.StatusCode != http.StatusOK:
		o.kind, o.detail = refusal(res, raw)
	case q.stream && strings.Contains(res.Header.Get("Content-Type"), "event-stream"):
		o.kind, o.detail = judgeStream(string(raw), nonce, q.conv.mark())
	default:
		o.kind, o.detail = judgeWhole(raw, nonce, q.conv.mark())
	}
	return o
}

// headers reads the answer's own fields and says what is not plausible in them.
func headers(h http.Header, q question) (fold, reason, wrong string) {
	value := h.Get("Foldgate-Fold")
	fold, rest, _ := strings.Cut(value, ";")
	if _, r, ok := strings.Cut(rest, `reason="`); ok {
		reason, _, _ = strings.Cut(r, `"`)
	}
	attempt := h.Get("Foldgate-Attempt")
	switch {
	case value == "": // only where nothing was decided: the body did not come whole, a replica leaves
		return fold, reason, ""
	case q.bypass != (fold == "bypassed"):
		return fold, reason, fmt.Sprintf("bypassed %t, and it was %q", q.bypass, value)
	case q.turns <= smallTurns && (fold != "none" || reason != "under"):
		return fold, reason, fmt.Sprintf("a small request was %q", value)
	case fold == "unfenced" && attempt != "" && !strings.Contains(attempt, "outcome=unfenced"):
		return fold, reason, fmt.Sprintf("unfenced by attempt %q", attempt)
	case fold == "committed" && (attempt == "" || strings.Contains(attempt, "generation=0,")):
		return fold, reason, fmt.Sprintf("committed by attempt %q", attempt)
	}
	if key := strings.Trim(h.Get("Foldgate-Key"), `"`); key != "" {
		if want, err := q.conv.key(q.turns); err != nil || key != want {
			return fold, reason, fmt.Sprintf("key %s, want %s (%v)", key, want, err)
		}
	}
	return fold, reason, ""
}

// refusal tells the gateway's own errors from what the upstream said.
func refusal(res *http.Response, raw []byte) (kind, detail string) {
	if res.Header.Get(headFrom) != "" {
		if res.StatusCode == http.StatusTemporaryRedirect && res.Header.Get("Location") != elsewhere {
			return kindForeign, "a redirect to " + res.Header.Get("Location")
		}
		if res.StatusCode == http.StatusInternalServerError && string(raw) != upstreamError {
			return kindForeign, string(raw)
		}
		return fmt.Sprintf("%d as the upstream sent it", res.StatusCode), ""
	}
	var e struct {
		Error struct{ Message, Type, Code string }
	}
	if err := json.Unmarshal(raw, &e); err != nil || e.Error.Code == "" || e.Error.Message == "" {
		return kindForeign, fmt.Sprintf("%s %.200q", res.Status, raw)
	}
	return fmt.Sprintf("%d %s", res.StatusCode, e.Error.Code), e.Error.Message
}

type choice struct {
	Choices []struct{ Delta, Message struct{ Content string } }
	Error   *struct{ Code string }
}

func judgeStream(raw, nonce, mark string) (kind, detail string) {
	var text strings.Builder
	ended := false
	for line := range strings.Lines(raw) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			ended = true
			continue
		}
		var c choice
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return kindShort, fmt.Sprintf("an event that is no JSON: %.100q", data)
		}
		if c.Error != nil {
			return kindInStream, c.Error.Code
		}
		for _, one := range c.Choices {
			text.WriteString(one.Delta.Content)
		}
	}
	return compare(text.String(), ended, nonce, mark)
}

func judgeWhole(raw []byte, nonce, mark string) (kind, detail string) {
	var c choice
	if err := json.Unmarshal(raw, &c); err != nil {
		return kindShort, fmt.Sprintf("%d bytes that are no JSON: %v", len(raw), err)
	}
	text := ""
	for _, one := range c.Choices {
		text += one.Message.Content
	}
	return compare(text, true, nonce, mark)
}

// compare holds what came against the one right answer.
func compare(text string, ended bool, nonce, mark string) (kind, detail string) {
	want := answerText(nonce, mark)
	switch {
	case text == want && ended:
		return kindAnswered, ""
	case strings.HasPrefix(want, text):
		return kindShort, fmt.Sprintf("%d of %d bytes, end mark %t", len(text), len(want), ended)
	default:
		return kindForeign, fmt.Sprintf("%.200q, want %.200q", text, want)
	}
}

// judgeHuge reads an answer that nobody should hold in memory.
func judgeHuge(body io.Reader, o outcome) outcome {
	const block = "0123456789abcdef"
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		for i := range n {
			if buf[i] != block[(o.bytes+int64(i))%int64(len(block))] {
				o.kind, o.detail = kindForeign, fmt.Sprintf("byte %d of a long answer", o.bytes+int64(i))
				return o
			}
		}
		o.bytes += int64(n)
		switch {
		case err == io.EOF:
			o.kind = kindAnswered
			return o
		case err != nil:
			o.kind, o.detail = kindCut, err.Error()
			return o
		}
	}
}
