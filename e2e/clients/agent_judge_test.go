package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/foldtest"
	"github.com/foldgate/foldgate/compression/window"
)

// pair is a request as the agent sent it and what the model got for it.
type pair struct {
	original  []byte
	fold      string // Foldgate-Fold
	tokens    string // Foldgate-Tokens
	status    int
	forwarded [][]byte // one, unless it was retried
}

// recorder stands between the agent and the gateway. The agent asks one thing at
// a time, so what the model gets belongs to the request that came last.
type recorder struct {
	url   string
	mu    sync.Mutex
	pairs []*pair
}

// record starts a recorder in front of a base URL.
func record(t *testing.T, to string) *recorder {
	t.Helper()
	r := &recorder{}
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ModifyResponse: func(res *http.Response) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if n := len(r.pairs); n > 0 && strings.HasSuffix(res.Request.URL.Path, "/chat/completions") {
				p := r.pairs[n-1]
				p.status, p.fold, p.tokens = res.StatusCode, res.Header.Get("Foldgate-Fold"), res.Header.Get("Foldgate-Tokens")
			}
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasSuffix(q.URL.Path, "/chat/completions") {
			r.mu.Lock()
			r.pairs = append(r.pairs, &pair{original: body})
			r.mu.Unlock()
		}
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// forwarded is told of what the model got.
func (r *recorder) forwarded(body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.pairs); n > 0 {
		r.pairs[n-1].forwarded = append(r.pairs[n-1].forwarded, body)
	}
}

// The frame by which a handoff and recalled passages are known from outside.
const (
	handoffBegin = "[Summary of the earlier conversation]"
	handoffEnd   = "[End of the summary; the conversation goes on here]"
	shortEnd     = "[End of the summary]" // of the frame for small rooms
	recallBegin  = "[Passages of the earlier conversation]"
)

// verdicts are what the judge found in a whole run.
type verdicts struct {
	folded  int // requests that were forwarded folded
	handoff map[string]bool
	bad     []string
}

// judge holds every pair of a run against sections 5.1, 5.2 and 5.5.
func (r *recorder) judge(total int) verdicts {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := verdicts{handoff: map[string]bool{}}
	for i, p := range r.pairs {
		if len(p.forwarded) != 1 {
			v.bad = append(v.bad, fmt.Sprintf("request %d reached the model %d times", i, len(p.forwarded)))
			continue
		}
		if bytes.Equal(p.original, p.forwarded[0]) {
			continue
		}
		v.folded++
		f, handoff, b, err := p.fold52(total)
		if err != nil {
			v.bad = append(v.bad, fmt.Sprintf("request %d: %v", i, err))
			continue
		}
		v.handoff[handoff] = true
		for _, breach := range foldtest.Breaches(p.original, f, handoff, b) {
			v.bad = append(v.bad, fmt.Sprintf("request %d (%s, %s): %s", i, p.fold, p.tokens, breach))
		}
	}
	return v
}

var tokensField = regexp.MustCompile(`before=(\d+), after=(\d+)`)

// fold52 says how the original became what was forwarded, from the two bodies and
// the response's header alone.
func (p *pair) fold52(total int) (compression.Folded, string, window.Budget, error) {
	var f compression.Folded
	was, named, err := messagesOf(p.original)
	if err != nil {
		return f, "", window.Budget{}, err
	}
	sent, _, err := messagesOf(p.forwarded[0])
	if err != nil {
		return f, "", window.Budget{}, err
	}
	b := window.NewBudget(window.Limits{Total: window.Tokens(total)}, window.Settings{Trigger: 0.8, ReserveOutput: 4096, KeepRecent: 0.25, Recall: 0.1}, named, 1, 1)
	m := tokensField.FindStringSubmatch(p.tokens)
	if m == nil {
		return f, "", b, fmt.Errorf("no counts in Foldgate-Tokens: %s", p.tokens)
	}
	after, _ := strconv.Atoi(m[2])
	f.Body, f.Tokens, f.Counted = p.forwarded[0], window.Tokens(after), window.Tokens(after)
	f.Fits = f.Tokens <= b.Usable

	head := 0
	for head < len(was) && (was[head].Role == "system" || was[head].Role == "developer") {
		head++
	}
	if head >= len(sent) {
		return f, "", b, fmt.Errorf("nothing after the head")
	}
	handoff, err := handoffOf(sent[head].text())
	if err != nil {
		return f, "", b, err
	}
	// The task is one user's message and all else the agent's, so the rest never
	// begins with a user's, and the handoff has a message of its own.
	f.Covered = len(was) - len(sent) + 1
	for i := head + f.Covered; i < len(was); i++ {
		if k := i - (len(was) - len(sent)); k > head && !bytes.Equal(was[i].raw, sent[k].raw) {
			f.Shrunk++
		}
	}
	if strings.Contains(string(p.forwarded[0]), recallBegin) {
		f.Recalled = 1
	}
	return f, handoff, b, nil
}

// handoffOf is the handoff at the beginning of a message's text.
func handoffOf(text string) (string, error) {
	for _, end := range []string{handoffEnd, shortEnd} {
		if at := strings.Index(text, end); strings.HasPrefix(text, handoffBegin) && at >= 0 {
			return text[:at+len(end)], nil
		}
	}
	return "", fmt.Errorf("no handoff leads %.80q", text)
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	raw     []byte
}

func (m chatMessage) text() string { return textOf(m.Content) }

// messagesOf reads the messages of a body, and the output limit that it names.
func messagesOf(body []byte) ([]chatMessage, window.Tokens, error) {
	var r struct {
		Messages            []json.RawMessage `json:"messages"`
		MaxTokens           int64             `json:"max_tokens"`
		MaxCompletionTokens int64             `json:"max_completion_tokens"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, 0, err
	}
	all := make([]chatMessage, len(r.Messages))
	for i, raw := range r.Messages {
		if err := json.Unmarshal(raw, &all[i]); err != nil {
			return nil, 0, err
		}
		all[i].raw = raw
	}
	return all, window.Tokens(max(r.MaxTokens, r.MaxCompletionTokens)), nil
}
