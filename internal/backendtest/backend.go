package backendtest

import (
	"encoding/json"
	"strings"
)

// Backend is one kind of server. The exported fields are what a person who puts
// Foldgate in front of it has to know; docs/backends.md prints them.
type Backend struct {
	Name string
	// Strict: its validator is meant to be whole.
	Strict bool
	// Path is where a chat request is sent, with the query that it needs.
	Path string
	// Auth is the header that carries the credential, Scheme what stands before it
	// there. An empty Auth: none is needed.
	Auth, Scheme string
	// Model is the name in the requests; empty: the path names it.
	Model string
	// Window says where Foldgate gets the window from, Note what else to know.
	Window, Note string
	// Output is the max_tokens of a client's requests; 0: they name none.
	Output int

	rules []rule
	// shape writes a fault's body; bad is the fault of what is no JSON, denied of a
	// wrong credential, nowhere of an unknown path.
	shape func(fault) string
	// late writes it inside a stream; nil: as shape does.
	late                 func(fault) string
	bad, denied, nowhere fault
	// missing is checked before the credential: what the path itself lacks.
	missing func(path, query string) *fault
	// structure is how it says that it does not take the order or the form of the
	// messages.
	structure fault
	// overflow is how it says that a request is too large; nil: it cuts, silently.
	overflow func(size) fault
	// inBand says where refusals of a model's server come, after a status of 200.
	inBand inBand
	frames framing
	// models writes what the server says of its models, by path. tells: their
	// windows are in it.
	models func(model string, window int) map[string]string
	tells  bool
	// errorType is the Content-Type of errors; empty: JSON.
	errorType string
	// idle is what a whole answer begins with, while the model is waited for.
	idle string
	// ids makes an id of a call that this backend gives out.
	ids func(n int) string
	// dialect changes a client's message into one that this backend's client sends.
	dialect func(role string, m map[string]json.RawMessage) bool
}

// size is a request too large, as the backend counted it, in tokens.
type size struct{ window, input, output int }

// inBand says which refusals come inside an answer of status 200.
type inBand uint8

const (
	byStatus  inBand = iota
	inStreams        // where a stream is asked for
	anywhere         // in whole answers as well
)

// Slug is the name as a test or an anchor writes it.
func (b Backend) Slug() string {
	var out strings.Builder
	for _, c := range strings.ToLower(b.Name) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			out.WriteRune(c)
		case !strings.HasSuffix(out.String(), "-"):
			out.WriteByte('-')
		}
	}
	return strings.Trim(out.String(), "-")
}

// Silent reports whether the backend cuts what does not fit instead of refusing it.
func (b Backend) Silent() bool { return b.overflow == nil }

// TellsWindow reports whether the server says what its models accept.
func (b Backend) TellsWindow() bool { return b.tells }

// Orderly reports whether it refuses messages for their order or form.
func (b Backend) Orderly() bool { return b.structure.message != "" }

// After200 reports whether a refusal may come inside a stream of status 200, and
// WholeAfter200 inside a whole answer of that status as well.
func (b Backend) After200() bool { return b.inBand != byStatus }

// WholeAfter200: see After200.
func (b Backend) WholeAfter200() bool { return b.inBand == anywhere }

// Framing tells in a few words what is special in its streams.
func (b Backend) Framing() string { return b.frames.words() }

// Check is the answer by which the backend refuses a request for its form, in
// whatever status; nil: it takes it. The size is not looked at.
func (b Backend) Check(body []byte) *Answer {
	r, err := read(body)
	if err != nil {
		return new(b.answer(b.bad))
	}
	if f := judge(r, b.rules); f != nil {
		return new(b.answer(*f))
	}
	return nil
}

// Count is the size of a request in the backend's tokens, 0 of what is none.
func (b Backend) Count(body []byte) int {
	r, err := read(body)
	if err != nil {
		return 0
	}
	return r.count()
}

// Structure is the answer by which the backend refuses the order or the form of
// messages.
func (b Backend) Structure() Answer { return b.answer(b.structure) }

// Overflow is the answer by which the backend refuses a request of so many
// tokens for a window of so many, zero where it is silent.
func (b Backend) Overflow(window, input, output int) Answer {
	if b.Silent() {
		return Answer{}
	}
	return b.answer(b.overflow(size{window, input, output}))
}

func (b Backend) answer(f fault) Answer {
	a := Answer{Status: f.status, Type: b.errorType, Body: b.shape(f)}
	if a.Status == 0 {
		a.Status = 400
	}
	if a.Type == "" {
		a.Type = jsonType
	}
	return a
}

// All are the backends, the strict ones first.
func All() []Backend {
	return []Backend{
		openAI(), azure(), vLLM(), llamaCPP(), deepSeek(),
		ollama(), lmStudio(), openRouter(), mistral(), groq(), gemini(), anthropic(), bedrock(), liteLLM(),
	}
}
