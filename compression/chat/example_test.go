package chat_test

import (
	"fmt"

	"github.com/foldgate/foldgate/compression/chat"
)

// The first answer is replaced; the number, the escape and the white space
// around it leave as they came.
func ExampleSplice() {
	body := []byte(`{"seed":9007199254740993, "messages":[{"role":"user","content":"caf\u00e9?"},
 {"role":"assistant","content":"a very long answer"}]}`)
	envelope, err := chat.ReadEnvelope(body)
	if err != nil {
		fmt.Println(err)
		return
	}
	request, err := chat.Parse(body, envelope)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(request.Text(0))
	folded, err := chat.Splice(body, []chat.Edit{{
		Span: request.Messages[1].Content,
		With: chat.Quote(nil, "folded"),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(folded))
	// Output:
	// café?
	// {"seed":9007199254740993, "messages":[{"role":"user","content":"caf\u00e9?"},
	//  {"role":"assistant","content":"folded"}]}
}

// Equal messages have equal digests, however they are spelled.
func ExampleExtend() {
	digest := func(message string) chat.Digest {
		body := []byte(`{"messages":[` + message + `]}`)
		envelope, _ := chat.ReadEnvelope(body)
		request, _ := chat.Parse(body, envelope)
		return chat.Extend(chat.Digest{}, chat.MessageDigest(request.Canonical(nil, 0)))
	}
	a := digest(`{"role":"user","content":"h\u00e9"}`)
	b := digest(`{"content":[{"type":"text","text":"hé","cache_control":{}}], "role":"user"}`)
	fmt.Println(a == b)
	// Output: true
}
