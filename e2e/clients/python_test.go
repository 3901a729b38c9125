package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The OpenAI SDK for Python is not installed and not run. What it sends is: its
// request line, header fields and body by hand, as its published source builds
// them (openai/openai-python, src/openai/_base_client.py at commit 000f030, read on 2026-12-01),
// and its rule of what is sent again, and when.

// pythonVersion is what stands in the User-Agent: a version of the SDK that sends these fields.
const pythonVersion = "1.95.1"

// pythonSDK replays the SDK's requests over connections of its own.
type pythonSDK struct {
	t       *testing.T
	address string
}

// head is a request's head. async is the client's kind, retry how often it
// was sent before, read the read time-out in seconds.
func (p pythonSDK) head(method, path string, async bool, retry int, read float64, length int) string {
	kind, name := "false", "OpenAI"
	if async {
		kind, name = "async:asyncio", "AsyncOpenAI"
	}
	head := method + " " + path + " HTTP/1.1\r\n" +
		"Host: " + p.address + "\r\n" +
		"Accept-Encoding: gzip, deflate\r\n" +
		"Connection: keep-alive\r\n" +
		"Accept: application/json\r\n"
	if method == http.MethodPost {
		head += "Content-Type: application/json\r\n"
	}
	head += "User-Agent: " + name + "/Python " + pythonVersion + "\r\n" +
		"X-Stainless-Lang: python\r\n" +
		"X-Stainless-Package-Version: " + pythonVersion + "\r\n" +
		"X-Stainless-OS: Linux\r\n" +
		"X-Stainless-Arch: x64\r\n" +
		"X-Stainless-Runtime: CPython\r\n" +
		"X-Stainless-Runtime-Version: 3.13.5\r\n" +
		"Authorization: Bearer " + apiKey + "\r\n" +
		"X-Stainless-Async: " + kind + "\r\n" +
		"x-stainless-retry-count: " + strconv.Itoa(retry) + "\r\n" +
		"x-stainless-read-timeout: " + strconv.FormatFloat(read, 'f', -1, 64) + "\r\n"
	if method == http.MethodPost {
		head += fmt.Sprintf("Content-Length: %d\r\n", length)
	}
	return head + "\r\n"
}

// pythonAnswer is a response as its bytes say.
type pythonAnswer struct {
	status int
	header map[string]string
	body   string
	err    error
}

// once sends one request; the connection is closed before the answer ends where
// leaveAfter is in what came of the body.
func (p pythonSDK) once(head, body, leaveAfter string, read time.Duration) pythonAnswer {
	p.t.Helper()
	c, err := net.Dial("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(read))
	if _, err := io.WriteString(c, head+body); err != nil {
		return pythonAnswer{err: err}
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return pythonAnswer{err: err}
	}
	// The body is not closed: that would read it to its end first.
	a := pythonAnswer{status: res.StatusCode, header: map[string]string{}}
	for name, values := range res.Header {
		a.header[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	var got strings.Builder
	piece := make([]byte, 4096)
	for {
		n, err := res.Body.Read(piece)
		got.Write(piece[:n])
		if leaveAfter != "" && strings.Contains(got.String(), leaveAfter) {
			break
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			a.err = err
			break
		}
	}
	a.body = got.String()
	return a
}

// pythonRetries is the SDK's default.
const pythonRetries = 2

// ask follows the SDK's rule: connection errors, 408, 409, 429 and 5xx are sent
// again, after retry-after-ms or retry-after where they are given.
func (p pythonSDK) ask(body string, async bool) (pythonAnswer, int) {
	p.t.Helper()
	for retry := 0; ; retry++ {
		a := p.once(p.head("POST", "/v1/chat/completions", async, retry, 600, len(body)), body, "", patience)
		again := a.err != nil || a.status == 408 || a.status == 409 || a.status == 429 || a.status >= 500
		if !again || retry == pythonRetries {
			return a, retry
		}
		wait := 500 * time.Millisecond
		if ms, err := strconv.ParseFloat(a.header["retry-after-ms"], 64); err == nil {
			wait = time.Duration(ms * float64(time.Millisecond))
		}
		<-time.After(wait)
	}
}

func (p pythonSDK) chat(model, text, more string) string {
	return `{"messages":[{"role":"user","content":"` + text + `"}],"model":"` + model + `"` + more + `}`
}

func TestOpenAIPythonReplayed(t *testing.T) {
	client{name: "OpenAI SDK for Python, replayed", version: pythonVersion, drive: drivePython, leaves: 2}.test(t)
}

func drivePython(t *testing.T, baseURL string) []outcome {
	t.Helper()
	p := pythonSDK{t: t, address: strings.TrimSuffix(strings.TrimPrefix(baseURL, "http://"), "/v1")}
	var all []outcome
	add := func(name, said string, a pythonAnswer, retries int) {
		o := outcome{Case: name, OK: a.err == nil && said == pythonWants(name, said), Said: said, Seen: []any{a.status, a.body, retries}, Header: a.header}
		if !o.OK {
			o.Wrong = fmt.Sprintf("%s, %v", said, a.err)
		}
		all = append(all, o)
	}
	a, n := p.ask(p.chat(largeModel, "@plain", ""), false)
	add("plain", contentOf(a), a, n)
	a, n = p.ask(p.chat(largeModel, "@plain", ""), true)
	add("plain-async", contentOf(a), a, n)
	a, n = p.ask(p.chat(largeModel, "@stream", `,"stream":true,"stream_options":{"include_usage":true}`), false)
	add("stream", contentOf(a), a, n)
	for _, name := range []string{"retry-429", "retry-500", "retry-reset"} {
		a, n = p.ask(p.chat(largeModel, "@"+name, ""), false)
		add(name, fmt.Sprintf("%s after %d retry", contentOf(a), n), a, n)
	}
	for _, name := range []string{"error-401", "error-404", "error-400"} {
		a, n = p.ask(p.chat(largeModel, "@"+name, ""), false)
		add(name, fmt.Sprintf("%d %s", a.status, codeOf(a)), a, n)
	}
	body := p.chat(largeModel, "@cancel", `,"stream":true`)
	a = p.once(p.head("POST", "/v1/chat/completions", false, 0, 600, len(body)), body, `"two "`, patience)
	add("cancel", map[bool]string{true: "left in mid-stream", false: "the stream ended"}[strings.HasSuffix(strings.TrimSpace(a.body), "}") && strings.Contains(a.body, `"two "`)], a, 0)
	body = p.chat(largeModel, "@timeout", "")
	a = p.once(p.head("POST", "/v1/chat/completions", false, 0, 1, len(body)), body, "", time.Second)
	timedOut := a.err != nil
	a.err, a.header = nil, nil
	add("timeout", map[bool]string{true: "APITimeoutError", false: "an answer"}[timedOut], a, 0)
	for _, name := range []string{"unfit", "unfit-far"} {
		words := 12_000
		if name == "unfit-far" {
			words *= 5
		}
		a, n = p.ask(p.chat(smallModel, strings.Repeat("alpha ", words)+"@"+name, ""), false)
		add(name, fmt.Sprintf("%d %s", a.status, codeOf(a)), a, n)
	}
	a, n = p.ask(p.long("fold"), false)
	add("fold", contentOf(a), a, n)
	a = p.once(p.head("GET", "/v1/models", false, 0, 600, 0), "", "", patience)
	a.header["foldgate-fold"] = "not of a chat"
	add("models", map[bool]string{true: "two models", false: a.body}[strings.Count(a.body, `"object":"model"`) == 2], a, 0)
	return all
}

// pythonWants is what a case has to come to. Where the gateway makes the difference
// it is what was said, which is compared elsewhere.
func pythonWants(name, said string) string {
	if _, differs := mayDiffer[name]; differs {
		return said
	}
	want, found := map[string]string{
		"error-401": "401 invalid_api_key", "error-404": "404 model_not_found", "error-400": "400 invalid_value",
		"retry-429": "answer after 1 retry", "retry-500": "answer after 1 retry", "retry-reset": "answer after 1 retry",
		"cancel": "left in mid-stream", "timeout": "APITimeoutError", "models": "two models",
	}[name]
	if !found {
		return "answer"
	}
	return want
}

// long is a request over the small model's window.
func (p pythonSDK) long(scenario string) string {
	raw, err := json.Marshal(map[string]any{"messages": append(longTalk(), longTalk()[1]), "model": smallModel})
	if err != nil {
		p.t.Fatal(err)
	}
	end := `,{"role":"assistant","content":"Yes."},{"role":"user","content":"And now? @` + scenario + `"}]`
	return strings.Replace(string(raw), `],"model"`, end+`,"model"`, 1)
}

// contentOf says what kind of answer it is.
func contentOf(a pythonAnswer) string {
	switch {
	case a.status == 200 && strings.Contains(a.body, said), strings.Contains(a.body, `"content":"Hello "`):
		return "answer"
	case codeOf(a) != "":
		return fmt.Sprintf("%d %s", a.status, codeOf(a))
	}
	return fmt.Sprintf("%d", a.status)
}

func codeOf(a pythonAnswer) string {
	var e struct {
		Error struct{ Code string }
	}
	_ = json.Unmarshal([]byte(a.body), &e)
	return e.Error.Code
}
