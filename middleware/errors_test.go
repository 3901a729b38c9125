package middleware

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type envelope struct {
	Error struct {
		Message, Type string
		Param         *string
		Code          string
	}
}

func TestErrorTable(t *testing.T) {
	want := map[errorCode]int{
		codeContextLength: 400, codeBodyBroken: 400, codeTooLarge: 413,
		codeUpstreamUnreachable: 502, codeUpstreamTimeout: 504, codeDraining: 503, codeOverloaded: 503,
	}
	table := ErrorTable()
	if len(table) != len(want) {
		t.Errorf("%d lines, want %d", len(table), len(want))
	}
	for _, e := range table {
		t.Run(e.Code, func(t *testing.T) {
			if e.Status != want[errorCode(e.Code)] {
				t.Errorf("got status %d, want %d", e.Status, want[errorCode(e.Code)])
			}
			w := httptest.NewRecorder()
			w.Header().Set("Content-Encoding", "gzip")
			writeError(w, httptest.NewRequest("POST", "/", nil), errorCode(e.Code), "say \"why\"\n\xff", "messages")
			if w.Code != e.Status || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Content-Encoding") != "" {
				t.Errorf("got %d, %v", w.Code, w.Header())
			}
			if got := w.Header().Get("Content-Length"); got != strconv.Itoa(w.Body.Len()) {
				t.Errorf("got length %s of %d", got, w.Body.Len())
			}
			if retry := w.Header().Get("Retry-After"); (retry != "") != (e.Status == http.StatusServiceUnavailable) {
				t.Errorf("got Retry-After %q with %d", retry, e.Status)
			}
			var got envelope
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("%s: %v", w.Body, err)
			}
			if got.Error.Message != "say \"why\"\n\uFFFD" || got.Error.Type != e.Type || got.Error.Code != e.Code || *got.Error.Param != "messages" {
				t.Errorf("got %s", w.Body)
			}
		})
	}
	table[0].Status = 999
	if ErrorTable()[0].Status == 999 {
		t.Error("the table itself was handed out")
	}
}

func TestWriteErrorToHead(t *testing.T) {
	w := httptest.NewRecorder()
	writeError(w, httptest.NewRequest("HEAD", "/", nil), codeOverloaded, "no", "")
	if w.Body.Len() != 0 || w.Code != 503 {
		t.Errorf("got %d with %d bytes, want 503 without a body", w.Code, w.Body.Len())
	}
}

func TestWriteInStreamError(t *testing.T) {
	w := httptest.NewRecorder()
	writeInStreamError(w, codeUpstreamTimeout, "late", "")
	want := `data: {"error":{"message":"late","type":"server_error","param":null,"code":"upstream_timeout"}}` + "\n\ndata: [DONE]\n\n"
	if diff := cmp.Diff(want, w.Body.String()); diff != "" || !w.Flushed {
		t.Errorf("flushed %v (-want +got):\n%s", w.Flushed, diff)
	}
}

func TestCodeOf(t *testing.T) {
	for err, want := range map[error]errorCode{errTooLarge: codeTooLarge, errOverloaded: codeOverloaded, errBodyBroken: codeBodyBroken} {
		if got := codeOf(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
}
