package backendtest

import (
	"encoding/json"
	"strings"
)

// framing is how a backend writes its streams.
type framing struct {
	media  string   // Content-Type; empty: text/event-stream
	end    string   // of a line; empty: a line feed
	first  []string // comments, whole lines, before anything else
	pause  string   // a comment in the middle of the answer
	ping   bool     // an event of that name before the answer and in its middle
	filter bool     // a first chunk without choices, of a content filter

	usage   usageAt
	unasked bool   // usage comes whether it was asked for or not
	timings bool   // the last chunk tells the server's own times
	extra   string // who provided it, in every chunk; empty: not said

	noDone           bool // nothing marks the end
	event            bool // an error is an event of that name
	errorChunk       bool // an error in the middle is a chunk that also ends the answer
	noDoneAfterError bool
}

// usageAt is in which chunk usage stands.
type usageAt uint8

const (
	ownChunk  usageAt = iota // one without choices, before the end
	lastChunk                // the one with the reason of the end
	bothChunks
)

// usage is what an answer cost, in the backend's tokens.
type usage struct{ prompt, completion int }

func (u usage) json() json.RawMessage {
	return object("prompt_tokens", u.prompt, "completion_tokens", u.completion, "total_tokens", u.prompt+u.completion)
}

const pingEvent = "event: ping\ndata: {\"type\": \"ping\"}"

const answerID, answerTime = "chatcmpl-stub", 1750000000

// words tell what is special in it.
func (f framing) words() string {
	var said []string
	for _, one := range []struct {
		is   bool
		what string
	}{
		{f.end == "\r\n", "CRLF"},
		{len(f.first) > 0 || f.pause != "", "comments"},
		{f.ping, "pings"},
		{f.filter, "a first chunk without choices"},
		{f.usage == lastChunk, "usage in the last chunk"},
		{f.usage == bothChunks, "usage twice"},
		{f.timings, "timings"},
		{f.noDone, "no end mark"},
		{f.event, "named errors"},
		{f.errorChunk, "errors in a chunk"},
	} {
		if one.is {
			said = append(said, one.what)
		}
	}
	if len(said) == 0 {
		return "as published"
	}
	return strings.Join(said, ", ")
}

func (f framing) mediaType() string {
	if f.media == "" {
		return "text/event-stream"
	}
	return f.media
}

// whole is an answer that is no stream.
func (f framing) whole(b Backend, u usage) string {
	choice := object("index", 0, "message", object("role", "assistant", "content", Reply), "finish_reason", "stop")
	return string(object("id", answerID, "object", "chat.completion", "created", answerTime, "model", b.Model,
		"choices", []json.RawMessage{choice}, "usage", u.json()))
}

// stream is an answer frame by frame, each as the server would flush it.
func (f framing) stream(b Backend, u usage, asked bool) []string {
	var frames []string
	for _, c := range f.first {
		frames = append(frames, f.lines(c))
	}
	if f.ping {
		frames = append(frames, f.lines(pingEvent))
	}
	if f.filter {
		frames = append(frames, f.data(object("choices", []string{}, "created", 0, "id", "", "model", "", "object", "",
			"prompt_filter_results", []json.RawMessage{object("prompt_index", 0, "content_filter_results", object())})))
	}
	frames = append(frames, f.chunk(b, object("role", "assistant", "content", ""), nil, nil))
	words := strings.SplitAfter(Reply, " ")
	for i, word := range words {
		if i == len(words)/2 && f.pause != "" {
			frames = append(frames, f.lines(f.pause))
		}
		if i == len(words)/2 && f.ping {
			frames = append(frames, f.lines(pingEvent))
		}
		frames = append(frames, f.chunk(b, object("content", word), nil, nil))
	}
	told := u.json()
	if !asked && !f.unasked {
		told = nil
	}
	last := told
	if f.usage == ownChunk {
		last = nil
	}
	frames = append(frames, f.chunk(b, object(), "stop", last))
	if told != nil && f.usage != lastChunk {
		frames = append(frames, f.chunk(b, nil, nil, told))
	}
	if !f.noDone {
		frames = append(frames, f.lines("data: [DONE]"))
	}
	return frames
}

// chunk is one event; without a delta it has no choices.
func (f framing) chunk(b Backend, delta json.RawMessage, finish any, told json.RawMessage) string {
	choices := []json.RawMessage{}
	if delta != nil {
		choices = append(choices, object("index", 0, "delta", delta, "finish_reason", finish))
	}
	members := []any{"id", answerID, "object", "chat.completion.chunk", "created", answerTime, "model", b.Model, "choices", choices}
	if f.extra != "" {
		members = append(members, "provider", f.extra)
	}
	if told != nil {
		members = append(members, "usage", told)
	}
	if f.timings && (finish != nil || delta == nil) {
		members = append(members, "timings", object("prompt_n", 1, "cache_n", 0, "predicted_n", 1))
	}
	return f.data(object(members...))
}

func (f framing) data(raw json.RawMessage) string { return f.lines("data: " + string(raw)) }

// lines is a frame of lines, with this framing's ends.
func (f framing) lines(text string) string {
	end := f.end
	if end == "" {
		end = "\n"
	}
	return strings.ReplaceAll(text, "\n", end) + end + end
}

// failed are the frames of a stream that is nothing but a refusal.
func (f framing) failed(body string) []string {
	var frames []string
	for _, c := range f.first {
		frames = append(frames, f.lines(c))
	}
	return append(frames, f.failure(body)...)
}

// cutOff is a chunk that ends the answer with an error.
func (f framing) cutOff(b Backend, cause fault) string {
	choice := object("index", 0, "delta", object("content", ""), "finish_reason", "error")
	return string(object("id", answerID, "object", "chat.completion.chunk", "created", answerTime, "model", b.Model, "provider", f.extra,
		"error", object("code", cause.status, "message", cause.message), "choices", []json.RawMessage{choice}))
}

// failure are the frames of an error.
func (f framing) failure(body string) []string {
	line := "data: " + oneLine(body)
	if f.event {
		line = "event: error\n" + line
	}
	frames := []string{f.lines(line)}
	if !f.noDone && !f.noDoneAfterError {
		frames = append(frames, f.lines("data: [DONE]"))
	}
	return frames
}

// oneLine is JSON without its line ends: an event has one line of data.
func oneLine(body string) string {
	var raw json.RawMessage
	if json.Unmarshal([]byte(body), &raw) != nil {
		return strings.Join(strings.Fields(body), " ")
	}
	return string(encoded(raw))
}

func asksUsage(r *request) bool {
	var o struct {
		Usage bool `json:"include_usage"`
	}
	return json.Unmarshal(r.fields["stream_options"], &o) == nil && o.Usage
}
