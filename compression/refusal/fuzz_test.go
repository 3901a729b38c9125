package refusal_test

import (
	"bytes"
	"testing"

	"github.com/foldgate/foldgate/compression/refusal"
)

func FuzzClassify(f *testing.F) {
	for _, body := range []string{
		openAI("This model's maximum context length is 8192 tokens. However, you requested 8500 tokens (7000 in the messages, and 1500 in the completion)."),
		openAI(`provider: {"error":{"message":"prompt is too long: 9 tokens > 8192 maximum","code":"x"}}`),
		`[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."}}]`,
		`{"error":{"type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`,
		`{"object":"error","message":"x","code":429}`, `{"detail":[{"msg":"y","input":1}]}`, `"text"`, `{"error":"`, "[[[[", "",
		`{"usage":{"prompt_tokens":8,"completion_tokens":1},"choices":[]}`,
	} {
		f.Add(400, []byte(body))
	}
	for _, body := range []string{
		"<html><head><title>413 Request Entity Too Large</title></head></html>",
		`{"error":{"message":"Request payload size exceeds the limit: 20971520 bytes."}}`,
		`{"error":"Request body too large. Max 512KiB allowed."}`, `Body exceeded 4.5mb limit`,
		`{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`,
		`{"choices":[{"message":{"content":""},"finish_reason":"model_context_window_exceeded"}]}`,
	} {
		f.Add(413, []byte(body))
	}
	f.Add(500, []byte(`{"error":{"message":"Jinja Exception: roles must alternate"}}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		got := refusal.Classify(status, body)
		switch {
		case got.Limit != 0 && (got.Limit < 1024 || got.Limit > 10_000_000):
			t.Fatalf("implausible limit: %+v", got)
		case got.Actual < 0 || got.Output < 0:
			t.Fatalf("negative: %+v", got)
		case got.InputLimit && got.Limit == 0, got.LowerBound && got.Actual == 0:
			t.Fatalf("about a number that is not there: %+v", got)
		case (got.Kind == refusal.None || got.Kind == refusal.Structure) && got != (refusal.Refusal{Kind: got.Kind}):
			t.Fatalf("numbers without a size: %+v", got)
		case got.Kind == refusal.TooLarge && got != refusal.Refusal{Kind: got.Kind, Bytes: got.Bytes}:
			t.Fatalf("tokens of a body: %+v", got)
		case got.Bytes != 0 && (got.Kind != refusal.TooLarge || got.Bytes < 1<<10 || got.Bytes > 4<<30):
			t.Fatalf("implausible bytes: %+v", got)
		case status < 200 && got.Kind != refusal.None, status == 429 && got.Kind != refusal.None:
			t.Fatalf("status %d: %+v", status, got)
		}
		if r := refusal.InStream(body); r.Kind != refusal.None {
			ended := r == refusal.Refusal{Kind: refusal.Overflow} && bytes.Contains(body, []byte("model_context_window_exceeded"))
			if _, ok := refusal.ErrorObject(body); !ok && !ended {
				t.Fatalf("%+v without an error object", r)
			}
		}
		if u, ok := refusal.ReadUsage(body); ok != (u != refusal.Usage{}) {
			t.Fatalf("usage %+v, %v", u, ok)
		}
	})
}
