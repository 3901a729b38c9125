package llm_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/foldgate/foldgate/compression/llm"
)

// canned answers every call with one body, byte by byte if need be.
type canned struct {
	body []byte
	slow bool
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	var body io.Reader = bytes.NewReader(c.body)
	if c.slow {
		body = iotest.OneByteReader(body)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
}

// FuzzSummarize: whatever a server answers, the result is an answer or a known
// error, and does not depend on how the bytes arrive.
func FuzzSummarize(f *testing.F) {
	f.Add([]byte(frames(delta(`"content":"a"`), stop, usage, done)))
	f.Add([]byte(frames(delta(`"reasoning":"a"`), done)))
	f.Add([]byte(frames(`{"error":{"message":"x","code":429}}`)))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"type":"text","text":"a"}]},"finish_reason":"stop"}]}`))
	f.Add([]byte("\n\n<html>"))
	f.Add([]byte(": ping\n\nevent: error\ndata: x\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		ask := func(slow bool) (llm.Answer, error) {
			client := llm.NewClient(canned{body, slow})
			return client.Summarize(t.Context(), llm.Call{URL: "http://model.test/", MaxAnswer: 64}, nil)
		}
		got, err := ask(false)
		again, errAgain := ask(true)
		if got != again || errorText(err) != errorText(errAgain) {
			t.Fatalf("%+v, %v against %+v, %v", got, err, again, errAgain)
		}
		switch {
		case err == nil:
			if strings.TrimSpace(got.Text) == "" && strings.TrimSpace(got.Refusal) == "" {
				t.Fatal("an answer that says nothing")
			}
		case errors.Is(err, llm.ErrCut), errors.Is(err, llm.ErrEmpty), errors.Is(err, llm.ErrTooLong),
			errors.Is(err, llm.ErrMalformed), errors.As(err, new(*llm.StatusError)):
		default:
			t.Fatalf("unknown error %v", err)
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
