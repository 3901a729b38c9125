package middleware_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// The middleware in somebody else's chi router: chat requests are folded, all
// other routes are that service's own.
func Example() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
	}))
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	if err != nil {
		fmt.Println(err)
		return
	}

	store := memstore.New(memstore.Options{}) // or redisstore.Open, for several replicas
	coordinator, err := ownership.NewCoordinator(ownership.Config{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	book, err := window.NewBook(window.BookConfig{Rules: []window.Rule{{Glob: "my-model", Total: 4000}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fold, err := middleware.New(middleware.Config{Upstream: target, Store: store, Coordinator: coordinator, Book: book})
	if err != nil {
		fmt.Println(err)
		return
	}

	router := chi.NewRouter()
	router.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") })
	router.With(fold.Handler).Handle("/v1/*", middleware.NewProxy(middleware.ProxyConfig{Upstream: target}))
	service := httptest.NewServer(router)
	defer service.Close()

	for _, turns := range []int{1, 120} {
		res, err := http.Post(service.URL+"/v1/chat/completions", "application/json", bytes.NewReader(growing(turns)))
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = res.Body.Close()
		fmt.Println(turns, "turns:", res.StatusCode, res.Header.Get("Foldgate-Fold"))
	}
	// Output:
	// 1 turns: 200 none; reason="under"
	// 120 turns: 200 fallback; reason="timeout"
}

// growing is a request of the given number of turns. No wait is configured
// above, so that the long one is folded without a model.
func growing(turns int) []byte {
	var messages []string
	for i := range turns {
		messages = append(messages,
			fmt.Sprintf(`{"role":"user","content":"question %d: what about step %d of the plan for the garden, the pond and the shed?"}`, i, i),
			fmt.Sprintf(`{"role":"assistant","content":"answer %d: step %d comes after step %d, and the pond waits for the spring."}`, i, i, i-1))
	}
	messages = append(messages, `{"role":"user","content":"what did we decide?"}`)
	return []byte(`{"model":"my-model","messages":[` + strings.Join(messages, ",") + `]}`)
}
