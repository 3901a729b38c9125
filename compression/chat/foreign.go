package chat

import "strings"

// What a request says to somebody else: that its server is to shorten it, or
// that it means tokens which its bytes do not show.

// watch says which names skip looks for.
type watch uint8

const (
	watchNothing watch = iota
	// watchSchema: inside definitions of tools and formats, where common words
	// are names of the caller's own properties.
	watchSchema
	// watchValues: everywhere else.
	watchValues
	// watchMessages: inside messages, where a compaction item may stand.
	watchMessages
)

// sighting is what was seen.
type sighting uint8

const (
	sawOpaque sighting = 1 << iota
	sawCompaction
)

func watchOf(field string) watch {
	switch field {
	case "messages":
		return watchMessages
	case "tools", "functions", "response_format":
		return watchSchema
	case "metadata":
		return watchNothing
	}
	return watchValues
}

// look examines the key read last and, where it is "type", the value to come.
func (s *scanner) look() {
	name := s.name()
	if len(name) > longestMarker {
		return
	}
	if string(name) == "type" {
		s.lookAtType()
		return
	}
	if s.peek() != 'n' && (opaqueName(name) || s.watch != watchSchema && opaqueWord(name)) {
		s.seen |= sawOpaque
	}
}

// lookAtType reads a type ahead of skip, which then consumes it.
func (s *scanner) lookAtType() {
	if s.peek() != '"' {
		return
	}
	start := s.i
	s.readString()
	if !s.bad && s.str.Len() <= maxEscapedName {
		s.sawType(s.name())
	}
	s.i = start
}

func (s *scanner) sawType(name []byte) {
	switch {
	case opaqueName(name), s.watch != watchSchema && opaqueWord(name):
		s.seen |= sawOpaque
	case s.watch == watchMessages && compactionItem(name):
		s.seen |= sawCompaction
	}
}

// compactionItem knows the types of the items that stand for what a server has
// compacted, or ask it to: OpenAI's (compaction, compaction_trigger; Codex also
// reads and writes the two others) and Anthropic's blocks (compaction).
func compactionItem(name []byte) bool {
	switch string(name) {
	case "compaction", "compaction_trigger", "compaction_summary", "context_compaction":
		return true
	}
	return false
}

// lookAtTop examines a top-level key. There "audio" describes the answer, and
// two more words refer to what the server stores.
func (s *scanner) lookAtTop(name string) {
	if s.peek() == 'n' || name == "audio" {
		return
	}
	stored := name == "conversation" || name == "prompt"
	if stored || opaqueName([]byte(name)) || opaqueWord([]byte(name)) {
		s.seen |= sawOpaque
	}
}

// longestMarker is the length of the longest name below, "previous_response_id".
const longestMarker = 20

// opaqueName knows the keys and types that mean tokens which the bytes do not
// show, wherever they stand.
func opaqueName(name []byte) bool {
	switch string(name) {
	case "image_url", "input_image", "image_file", "image_base64", "image_id", "image_embeds",
		"input_audio", "audio_url", "audio_id", "audio_embeds",
		"input_video", "video_url", "video_file",
		"input_file", "file_id", "file_ids", "file_data", "file_url", "file_uri", "fileData", "file_search",
		"inline_data", "inlineData", "multimodal_data", "container_upload", "vector_store_ids",
		"previous_response_id", "item_reference", "cached_content", "cachedContent", "context_id",
		"data_sources", "web_search_options":
		return true
	}
	return false
}

// opaqueWord knows the words that mean the same in a message but are too common
// to mean it in a schema.
func opaqueWord(name []byte) bool {
	switch string(name) {
	case "image", "images", "audio", "audios", "video", "videos", "file", "files", "document", "media":
		return true
	}
	return false
}

// asksNative reports whether the top-level field asks the server, or a gateway
// on the way, to shorten the request:
//
//   - context_management: OpenAI's and Anthropic's (compaction and the clearing of
//     old tool results). Without an entry it asks nothing.
//   - compaction: Anthropic's on demand.
//   - betas, anthropic_beta: the names of Anthropic's features of those two,
//     where a body carries them.
//   - truncation "auto": OpenAI's. truncate_prompt_tokens: vLLM's.
//   - transforms, plugins: OpenRouter's.
//   - extra_body: what LiteLLM and others pass on as if it stood at the top.
func asksNative(name string, value []byte) bool {
	switch name {
	case "context_management":
		return asksManagement(value)
	case "compaction", "truncate_prompt_tokens":
		return value[0] != 'n' && value[0] != 'f'
	case "betas", "anthropic_beta":
		return asksBeta(value)
	case "truncation":
		return stringIs(value, "auto")
	case "transforms":
		return asksTransform(value)
	case "plugins":
		return asksPlugin(value)
	case "extra_body":
		asks := false
		eachMember(value, func(name string, value []byte) {
			asks = asks || name != "extra_body" && asksNative(name, value)
		})
		return asks
	}
	return false
}

// asksManagement: a list of OpenAI's entries, or Anthropic's object of edits.
func asksManagement(raw []byte) bool {
	asks := false
	eachElement(raw, func([]byte) { asks = true })
	eachMember(raw, func(name string, value []byte) {
		if name != "edits" {
			asks = asks || value[0] != 'n'
			return
		}
		eachElement(value, func([]byte) { asks = true })
	})
	return asks
}

// asksBeta: one name, several with commas between them, or a list of names.
func asksBeta(raw []byte) bool {
	asks := namesBeta(raw)
	eachElement(raw, func(value []byte) { asks = asks || namesBeta(value) })
	return asks
}

func namesBeta(raw []byte) bool {
	for name := range strings.SplitSeq(decodeExact(raw, Span{0, len(raw)}), ",") {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(name, "compact-") || strings.HasPrefix(name, "context-management-") {
			return true
		}
	}
	return false
}

func asksTransform(raw []byte) bool {
	asks := stringIs(raw, "middle-out")
	eachElement(raw, func(value []byte) {
		asks = asks || stringIs(value, "middle-out")
	})
	return asks
}

func asksPlugin(raw []byte) bool {
	asks := false
	eachElement(raw, func(plugin []byte) {
		named, disabled := false, false
		eachMember(plugin, func(name string, value []byte) {
			switch name {
			case "id":
				named = named || stringIs(value, "context-compression")
			case "enabled":
				disabled = string(value) == "false"
			}
		})
		asks = asks || named && !disabled
	})
	return asks
}

// eachMember calls visit for the members of a valid JSON object, if raw is one.
func eachMember(raw []byte, visit func(name string, value []byte)) {
	s := scanner{b: raw}
	if s.peek() != '{' {
		return
	}
	for s.enter(); s.nextKey(); {
		name := string(s.name())
		visit(name, s.value().Of(raw))
	}
}

// eachElement calls visit for the elements of a valid JSON array, if raw is one.
func eachElement(raw []byte, visit func(value []byte)) {
	s := scanner{b: raw}
	if s.peek() != '[' {
		return
	}
	for s.enter(); s.nextElement(); {
		visit(s.value().Of(raw))
	}
}

// stringIs reports whether raw is a JSON string that decodes to want.
func stringIs(raw []byte, want string) bool {
	v, ok := inner(raw, Span{0, len(raw)})
	if !ok || len(v) > 6*len(want) {
		return false
	}
	return decodeExact(raw, Span{0, len(raw)}) == want
}
