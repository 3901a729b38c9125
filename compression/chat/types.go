package chat

import "errors"

// MaxDepth is the deepest nesting that is read. Deeper bodies are ErrSyntax.
const MaxDepth = 512

// MaxElements is the largest number of messages, content parts and calls, taken
// together, that is looked into. It bounds the memory that a hostile body can
// ask for (each takes about a hundred times the bytes it can be written in); no
// API accepts half as many messages. A body beyond it is ErrNotChat.
const MaxElements = 1 << 18

// Why a body is not looked into, or not rewritten. It is forwarded as it came.
// Errors that wrap these say where, by byte, and never quote the body.
var (
	// ErrNotChat: valid JSON without a messages array of objects with roles, no
	// JSON object at all, or more than MaxElements.
	ErrNotChat = errors.New("chat: not a chat request")
	// ErrSyntax: not one JSON value.
	ErrSyntax = errors.New("chat: not valid JSON")
	// ErrDuplicateKey: a key that matters stands twice.
	ErrDuplicateKey = errors.New("chat: doubled key")
)

// Span is a half-open byte range of a body. The zero Span means absent.
type Span struct{ Start, End int }

// Empty reports whether the span is absent.
func (s Span) Empty() bool { return s.Start == s.End }

// Len is the number of bytes.
func (s Span) Len() int { return s.End - s.Start }

// Of cuts the span out of body.
func (s Span) Of(body []byte) []byte { return body[s.Start:s.End] }

// Envelope is what the top level of a request says. Spans are of values.
// Numbers that are absent, no integers, negative or over 2^31-1 are zero.
type Envelope struct {
	Model               string
	Stream              bool
	MaxTokens           int
	MaxCompletionTokens int
	Messages            Span // the array, brackets included
	Tools               Span // else the deprecated "functions"
	ResponseFormat      Span
	// JSONObject: response_format asks for json_object.
	JSONObject bool
	// ToolsOff: tool_choice is "none".
	ToolsOff bool
	// Native names the field by which the request already asks somebody else to
	// shorten it (context_management, compaction, betas of these, truncation
	// "auto", plugins or transforms with context compression,
	// truncate_prompt_tokens; extra_body where one of them stands in it), or
	// "compaction" where a message holds a compaction item; empty if none.
	Native string
	// Opaque: the body may refer to tokens that its bytes do not show: images,
	// audio, files, stored conversations or documents fetched by the server. It
	// is found by the names of keys ("image_url", "file_id", ...) and types
	// anywhere but inside strings, so it may be true without need, never false
	// where there are some.
	Opaque bool

	reading reading
}

// Role is the kind of a message's role.
type Role uint8

// The roles. RoleOther is any other string, kept as it is.
const (
	RoleOther Role = iota
	RoleSystem
	RoleDeveloper
	RoleUser
	RoleAssistant
	RoleTool
	RoleFunction
)

// Leading reports whether a run of such messages at the start is the head.
func (r Role) Leading() bool { return r == RoleSystem || r == RoleDeveloper }

// Result reports whether the message answers a call (tool, function).
func (r Role) Result() bool { return r == RoleTool || r == RoleFunction }

// ContentKind is the JSON kind of a message's content.
type ContentKind uint8

// The content kinds.
const (
	ContentAbsent ContentKind = iota
	ContentNull
	ContentString
	ContentArray
	ContentOther
)

// Part is one element of a content array. Spans are into Request.Body.
type Part struct {
	Span Span
	Type string // "" where it is no object or has no type
	// Text is the span of the "text" (or, for want of one, the "refusal") string,
	// quotes included. A part of any type may have one.
	Text Span
	// URL is the span of image_url.url (or a plain image_url string), quotes
	// included; Detail its detail ("low", "high", "auto", "").
	URL    Span
	Detail string
	// Marker is the value span of cache_control or prompt_cache_breakpoint, and
	// MarkerKey the key that it stands under.
	Marker    Span
	MarkerKey string
}

// Call is one element of tool_calls, or the deprecated function_call (then ID
// and Type are empty). Strings in it, and in Message, are decoded; what has no
// UTF-8 form is kept as bytes, so that ids that differ stay different; Valid makes
// text of them.
type Call struct {
	Span Span
	ID   string
	// Type is as it was given; where it was not, "function" or "custom" by what
	// the call holds.
	Type string
	Name string
	// Arguments is the JSON string with its quotes: function.arguments or
	// custom.input. It is absent where the call has no such form, and the rest
	// of it then is not to be relied on.
	Arguments Span
}

// deprecated reports whether it came as function_call, which has no type.
func (c *Call) deprecated() bool { return c.Type == "" }

// Message is one element of messages.
type Message struct {
	Span        Span
	Role        Role
	RoleName    string
	Name        string
	ContentKind ContentKind
	Content     Span
	Parts       []Part
	Refusal     Span // the refusal string of the message itself, quotes included
	Audio       Span // the audio value of the message itself, unless null
	Calls       []Call
	ToolCallID  string
	Marker      Span // a cache marker on the message itself
	MarkerKey   string

	// odd: a field that says what the message is has a kind that no API gives it.
	odd bool
}

// Request is a parsed request. It keeps the body and never changes it. Safe for
// concurrent reading.
type Request struct {
	Envelope
	Body     []byte
	Messages []Message
	// Head is the number of leading system and developer messages.
	Head int
}
