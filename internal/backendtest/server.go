package backendtest

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
)

// Secret is the credential that every server here takes, and no other.
const Secret = "sk-stub-0123456789"

// Reply is what the model of every server answers. It passes for a summary.
const Reply = "STUB-REPLY: the look-ups were answered, and the garden is to be finished in spring."

// Server is a backend that serves. Make one with Serve.
type Server struct {
	Backend
	window int

	mu        sync.Mutex
	exchanges []Exchange
	distrust  string
	breaks    bool
}

// Exchange is a chat request that the server got, and what became of it.
type Exchange struct {
	Body   []byte
	Status int
	// Refused is why it was refused, in the backend's words; empty: it was taken.
	Refused string
}

// Serve makes a server whose model has a window of so many tokens; 0: any.
func (b Backend) Serve(window int) *Server { return &Server{Backend: b, window: window} }

// Distrust makes the server refuse the form of every conversation that holds the
// text, as if a new release did not take what carries it. A single message, such
// as asks for a summary, is none. Empty: of none.
func (s *Server) Distrust(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.distrust = text
}

// BreakStreams makes the model fail in the middle of every stream.
func (s *Server) BreakStreams(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaks = on
}

// Exchanges are the chat requests so far that had the right path and credential.
func (s *Server) Exchanges() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.exchanges)
}

func (s *Server) note(e Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exchanges = append(s.exchanges, e)
}

func (s *Server) state() (distrust string, breaks bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.distrust, s.breaks
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller is gone
	}
	chat := r.Method == http.MethodPost && s.isChat(r.URL.Path)
	if chat && s.missing != nil {
		if f := s.missing(r.URL.Path, r.URL.RawQuery); f != nil {
			s.write(w, s.answer(*f))
			return
		}
	}
	if s.Auth != "" && r.Header.Get(s.Auth) != s.Scheme+Secret {
		s.write(w, s.answer(s.denied))
		return
	}
	if !chat {
		s.serveOther(w, r)
		return
	}
	s.serveChat(w, body)
}

func (s *Server) isChat(path string) bool {
	own, _, _ := cut(s.Path)
	return path == own || s.missing != nil && sameDepth(path, own)
}

func (s *Server) serveOther(w http.ResponseWriter, r *http.Request) {
	if s.models != nil && r.Method == http.MethodGet {
		if body, ok := s.models(s.Model, s.window)[r.URL.Path]; ok {
			s.write(w, Answer{Status: http.StatusOK, Type: jsonType, Body: body})
			return
		}
	}
	s.write(w, s.answer(s.nowhere))
}

func (s *Server) serveChat(w http.ResponseWriter, body []byte) {
	r, err := read(body)
	if err != nil {
		s.refuse(w, body, nil, s.bad)
		return
	}
	if f := judge(r, s.rules); f != nil {
		s.refuse(w, body, r, *f)
		return
	}
	distrust, breaks := s.state()
	if distrust != "" && len(r.messages) > 1 && bytes.Contains(body, []byte(distrust)) {
		s.refuse(w, body, r, s.structure)
		return
	}
	input := r.count()
	if s.window > 0 && input+r.output > s.window {
		if !s.Silent() {
			s.refuse(w, body, r, s.overflow(size{s.window, input, r.output}))
			return
		}
		input = min(input, s.window) // the oldest messages are dropped, and nothing is said
	}
	s.note(Exchange{Body: body, Status: http.StatusOK})
	u := usage{prompt: input, completion: countText(Reply)}
	if !r.stream {
		s.write(w, Answer{Status: http.StatusOK, Type: jsonType, Body: s.idle + s.frames.whole(s.Backend, u)})
		return
	}
	frames := s.frames.stream(s.Backend, u, asksUsage(r))
	if breaks {
		frames = append(frames[:len(frames)/2], s.broken()...)
	}
	s.writeStream(w, frames)
}

// refuse answers a fault, by status or inside an answer.
func (s *Server) refuse(w http.ResponseWriter, body []byte, r *request, f fault) {
	a := s.answer(f)
	e := Exchange{Body: body, Status: a.Status, Refused: f.message}
	streamed := r != nil && r.stream && s.inBand != byStatus
	if streamed || r != nil && s.inBand == anywhere {
		e.Status = http.StatusOK
	}
	s.note(e)
	if streamed {
		s.writeStream(w, s.frames.failed(s.inside(f)))
		return
	}
	a.Status = e.Status
	s.write(w, a)
}

// inside is a fault's body as it stands in a stream.
func (b Backend) inside(f fault) string {
	if b.late != nil {
		return b.late(f)
	}
	return b.shape(f)
}

// broken are the frames by which a model that fails ends its answer.
func (b Backend) broken() []string {
	f := fault{status: 500, message: "the model stopped unexpectedly", kind: "server_error"}
	if b.frames.errorChunk {
		return b.frames.failure(b.frames.cutOff(b, f))
	}
	return b.frames.failure(b.inside(f))
}

func (s *Server) write(w http.ResponseWriter, a Answer) {
	w.Header().Set("Content-Type", a.Type)
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body) // a caller that is gone needs nothing
}

func (s *Server) writeStream(w http.ResponseWriter, frames []string) {
	w.Header().Set("Content-Type", s.frames.mediaType())
	for _, f := range frames {
		if _, err := io.WriteString(w, f); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}
