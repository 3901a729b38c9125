package clients

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// neighbour answers what is no chat request.
func (m *model) neighbour(w http.ResponseWriter, r *http.Request, body []byte) {
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		answer(map[string]any{"object": "list", "data": []any{
			map[string]any{"id": largeModel, "object": "model", "created": 1_720_000_000, "owned_by": "tests"},
			map[string]any{"id": smallModel, "object": "model", "created": 1_720_000_000, "owned_by": "tests"},
		}})
	case "POST /v1/embeddings":
		answer(map[string]any{"object": "list", "model": "text-embedding-3-small", "data": []any{
			map[string]any{"object": "embedding", "index": 0, "embedding": []float64{0.5, -0.25}},
		}, "usage": map[string]any{"prompt_tokens": 2, "total_tokens": 2}})
	case "POST /v1/completions":
		answer(map[string]any{"id": "cmpl-1", "object": "text_completion", "created": 1_720_000_000, "model": "gpt-3.5-turbo-instruct", "choices": []any{
			map[string]any{"index": 0, "text": said, "logprobs": nil, "finish_reason": "stop"},
		}})
	case "POST /v1/files":
		answer(map[string]any{"id": "file-1", "object": "file", "bytes": strings.Count(string(body), "x"), "created_at": 1_720_000_000, "filename": "notes.txt", "purpose": "user_data"})
	default:
		refuse(w, http.StatusNotFound, fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path), "invalid_request_error", "", "unknown_url")
	}
}
