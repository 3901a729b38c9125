package chat_test

import (
	"testing"

	"github.com/foldgate/foldgate/compression/chat"
)

// read is ReadEnvelope and Parse in one.
func read(body string) (*chat.Request, error) {
	e, err := chat.ReadEnvelope([]byte(body))
	if err != nil {
		return nil, err
	}
	return chat.Parse([]byte(body), e)
}

func parse(tb testing.TB, body string) *chat.Request {
	tb.Helper()
	r, err := read(body)
	if err != nil {
		tb.Fatalf("parsing %.200q: %v", body, err)
	}
	return r
}

// message is the request whose only message is raw.
func message(tb testing.TB, raw string) *chat.Request {
	tb.Helper()
	return parse(tb, `{"messages":[`+raw+`]}`)
}
