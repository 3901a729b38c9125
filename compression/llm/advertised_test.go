package llm_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/window"
)

// backend answers what is in it, by path and query, and 404 to the rest. It keeps
// what it was asked.
type backend struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string
	header []http.Header
}

func newBackend(t *testing.T, answers map[string]string) *backend {
	t.Helper()
	b := &backend{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.asked = append(b.asked, r.Method+" "+r.URL.RequestURI())
		b.header = append(b.header, r.Header.Clone())
		b.mu.Unlock()
		body, ok := answers[r.URL.RequestURI()]
		if !ok || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *backend) questions() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.asked...)
}

// advertised asks a server as a caller of base would.
func advertised(t *testing.T, base string, header http.Header, models ...string) (llm.Advertisement, error) {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	c := llm.NewClient(nil)
	t.Cleanup(c.CloseIdleConnections)
	return c.Advertised(t.Context(), llm.AdvertisedCall{Base: u, Header: header, Models: models})
}

func TestAdvertised(t *testing.T) {
	total := func(n window.Tokens) window.Limits { return window.Limits{Total: n} }
	for _, tc := range []struct {
		name     string
		base     string // the path of the base; empty: /v1
		answers  map[string]string
		asked    []string
		want     map[string]window.Limits // of those that were asked for
		unloaded bool
		never    string // a part of no question
		most     int    // questions; 0: 8
	}{
		{
			name: "vLLM",
			answers: map[string]string{"/v1/models": `{"object":"list","data":[
				{"id":"qwen3","object":"model","created":1,"owned_by":"vllm","root":"/models/qwen3","parent":null,"max_model_len":32768,"permission":[{"id":"p","allow_view":true}]},
				{"id":"a-lora","object":"model","owned_by":"vllm","parent":"qwen3","max_model_len":null}]}`},
			asked: []string{"qwen3"}, want: map[string]window.Limits{"qwen3": total(32768)}, never: "/api",
		},
		{
			name: "OpenRouter: the smaller one of model and provider",
			base: "/api/v1",
			answers: map[string]string{"/api/v1/models": `{"data":[
				{"id":"acme/large","canonical_slug":"acme/large-2026","name":"Acme: Large","context_length":1048576,"architecture":{"modality":"text->text","input_modalities":["text"]},
				 "pricing":{"prompt":"0.000001"},"top_provider":{"context_length":262000,"max_completion_tokens":65536,"is_moderated":false},"per_request_limits":null},
				{"id":"acme/small","context_length":8192,"top_provider":{"context_length":null,"max_completion_tokens":null}},
				{"id":"acme/small:free","context_length":4096,"top_provider":{}}]}`},
			asked: []string{"acme/large", "acme/large-2026", "acme/small:free", "acme/small:online", "acme/large:nitro", "acme/none"},
			want: map[string]window.Limits{
				"acme/large": {Total: 262000, Output: 65536}, "acme/large-2026": {Total: 262000, Output: 65536},
				"acme/small:free": total(4096), "acme/small:online": total(8192), "acme/large:nitro": {Total: 262000, Output: 65536},
			},
		},
		{
			name:    "Groq",
			base:    "/openai/v1",
			answers: map[string]string{"/openai/v1/models": `{"object":"list","data":[{"id":"g","owned_by":"Meta","active":true,"context_window":131072,"public_apps":null,"max_completion_tokens":32768}]}`},
			asked:   []string{"g"}, want: map[string]window.Limits{"g": {Total: 131072, Output: 32768}},
		},
		{
			name:    "Mistral",
			answers: map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","owned_by":"mistralai","capabilities":{"completion_chat":true},"max_context_length":131072,"aliases":["m-latest"],"deprecation":null}]}`},
			asked:   []string{"m", "m-latest"}, want: map[string]window.Limits{"m": total(131072), "m-latest": total(131072)},
		},
		{
			name:    "Together: a list alone",
			answers: map[string]string{"/v1/models": `[{"id":"t/x","type":"chat","context_length":32768,"pricing":{"input":1}}]`},
			asked:   []string{"t/x"}, want: map[string]window.Limits{"t/x": total(32768)},
		},
		{
			name:    "DeepInfra",
			answers: map[string]string{"/v1/models": `{"data":[{"id":"d","owned_by":"deepinfra","metadata":{"description":"x","context_length":163840,"max_tokens":16384}}]}`},
			asked:   []string{"d"}, want: map[string]window.Limits{"d": {Total: 163840, Output: 16384}},
		},
		{
			name:    "GitHub Copilot",
			answers: map[string]string{"/v1/models": `{"data":[{"id":"c","capabilities":{"family":"c","limits":{"max_context_window_tokens":128000,"max_prompt_tokens":64000,"max_output_tokens":4096}}}]}`},
			asked:   []string{"c"}, want: map[string]window.Limits{"c": {Total: 128000, Input: 64000, Output: 4096}},
		},
		{
			name:    "Gemini's own list",
			answers: map[string]string{"/v1/models": `{"models":[{"name":"models/ge","inputTokenLimit":1048576,"outputTokenLimit":65536}]}`},
			asked:   []string{"ge"}, want: map[string]window.Limits{"ge": {Input: 1048576, Output: 65536}},
		},
		{
			name: "Anthropic, the model not on the first page",
			answers: map[string]string{
				"/v1/models":   `{"data":[{"type":"model","id":"a-1","max_input_tokens":200000,"max_tokens":64000}],"has_more":true,"first_id":"a-1"}`,
				"/v1/models/b": `{"type":"model","id":"b","max_input_tokens":1000000,"max_tokens":128000}`,
			},
			asked: []string{"a-1", "b"},
			want:  map[string]window.Limits{"a-1": {Input: 200000, Output: 64000}, "b": {Input: 1000000, Output: 128000}},
		},
		{
			name: "OpenAI says nothing", answers: map[string]string{"/v1/models": `{"object":"list","data":[{"id":"o","object":"model","created":1,"owned_by":"openai"}]}`},
			asked: []string{"o"}, want: map[string]window.Limits{},
		},
		{
			name: "llama.cpp: the slot's window, not the trained one",
			answers: map[string]string{
				"/v1/models": `{"models":[{"name":"x.gguf","model":"x.gguf","details":{}}],"object":"list","data":[{"id":"x.gguf","object":"model","owned_by":"llamacpp","meta":{"vocab_type":2,"n_ctx_train":131072,"n_params":8}}]}`,
				"/props":     `{"default_generation_settings":{"id":0,"n_ctx":8192,"params":{"n_predict":-1,"max_tokens":-1}},"total_slots":4,"model_path":"x.gguf","chat_template":"{{ messages }}"}`,
			},
			asked: []string{"any name"}, want: map[string]window.Limits{"any name": total(8192)}, never: "/api",
		},
		{
			name: "llama.cpp as a router: only what is loaded is asked about",
			answers: map[string]string{
				"/v1/models": `{"object":"list","data":[
					{"id":"up","owned_by":"llamacpp","status":{"value":"loaded","args":["-c","4096"]}},
					{"id":"down","owned_by":"llamacpp","status":{"value":"unloaded"}}]}`,
				"/props?model=up&autoload=false": `{"default_generation_settings":{"n_ctx":16384}}`,
			},
			asked: []string{"up", "down"}, want: map[string]window.Limits{"up": total(16384)}, unloaded: true, never: "model=down", most: 2,
		},
		{
			name: "Ollama: what is loaded, not what was trained",
			answers: map[string]string{
				"/v1/models": `{"object":"list","data":[{"id":"llama3:latest","object":"model","owned_by":"library"},{"id":"big:70b","object":"model","owned_by":"library"}]}`,
				"/api/ps":    `{"models":[{"name":"llama3:latest","model":"llama3:latest","size":1,"details":{"family":"llama"},"size_vram":1,"context_length":4096}]}`,
			},
			asked: []string{"llama3", "big:70b"}, want: map[string]window.Limits{"llama3": total(4096)}, unloaded: true, never: "/api/show",
		},
		{
			name: "LM Studio: loaded instances",
			answers: map[string]string{
				"/v1/models": `{"object":"list","data":[{"id":"q/4b","object":"model","owned_by":"organization_owner"},{"id":"q/8b","object":"model","owned_by":"organization_owner"}]}`,
				"/api/v1/models": `{"models":[
					{"type":"llm","key":"q/4b","display_name":"Q","loaded_instances":[{"id":"q/4b","config":{"context_length":16384,"eval_batch_size":512}},{"id":"q/4b:2","config":{"context_length":4096}}],"max_context_length":262144},
					{"type":"llm","key":"q/8b","loaded_instances":[],"max_context_length":262144}]}`,
			},
			asked:    []string{"q/4b", "q/4b:2", "q/8b"},
			want:     map[string]window.Limits{"q/4b": total(4096), "q/4b:2": total(4096)},
			unloaded: true,
		},
		{
			name: "LM Studio, older",
			answers: map[string]string{
				"/v1/models": `{"data":[{"id":"q","object":"model","owned_by":"organization_owner"}]}`,
				"/api/v0/models": `{"object":"list","data":[
					{"id":"q","object":"model","type":"llm","state":"loaded","max_context_length":131072,"loaded_context_length":8192},
					{"id":"r","state":"not-loaded","max_context_length":131072}]}`,
			},
			asked: []string{"q", "r"}, want: map[string]window.Limits{"q": total(8192)}, unloaded: true,
		},
		{
			name:    "LM Studio through its older API",
			base:    "/api/v0",
			answers: map[string]string{"/api/v0/models": `{"data":[{"id":"q","state":"loaded","max_context_length":131072,"loaded_context_length":8192}]}`},
			asked:   []string{"q"}, want: map[string]window.Limits{"q": total(8192)},
		},
		{
			name: "text-generation-inference",
			answers: map[string]string{
				"/v1/models": `{"object":"list","data":[{"id":"org/model","object":"model","owned_by":"org/model"}]}`,
				"/info":      `{"model_id":"org/model","max_concurrent_requests":128,"max_input_tokens":4095,"max_total_tokens":4096,"router":"text-generation-router"}`,
			},
			asked: []string{"tgi"}, want: map[string]window.Limits{"tgi": {Total: 4096, Input: 4095}},
		},
		{
			name: "SGLang without a length in its list",
			answers: map[string]string{
				"/v1/models":      `{"object":"list","data":[{"id":"s","owned_by":"sglang","root":"s"}]}`,
				"/get_model_info": `{"model_path":"s","is_generation":true,"max_context_length":40960}`,
			},
			asked: []string{"s"}, want: map[string]window.Limits{"s": total(40960)}, never: "/props",
		},
		{
			name:    "no list at all, nearby",
			answers: map[string]string{"/props": `{"default_generation_settings":{"n_ctx":4096}}`},
			asked:   []string{"m"}, want: map[string]window.Limits{"m": total(4096)},
		},
		{
			name: "numbers in other forms",
			answers: map[string]string{"/v1/models": `{"data":[{"id":"text","context_length":" 32768 "},{"id":"float","context_length":3.2768e4},{"id":"bool","context_length":true},
				{"id":"null","context_length":null},{"id":"list","context_length":[32768]},{"id":"unit","context_length":"32k"}]}`},
			asked: []string{"text", "float", "bool", "null", "list", "unit"},
			want:  map[string]window.Limits{"text": total(32768), "float": total(32768)},
		},
		{
			name: "numbers that cannot be",
			answers: map[string]string{"/v1/models": `{"data":[{"id":"zero","context_length":0},{"id":"minus","context_length":-1},{"id":"few","context_length":512},
				{"id":"many","context_length":999999999999},{"id":"more","context_length":1e400},{"id":"one of two","context_length":32768,"top_provider":{"context_length":3}}]}`},
			asked: []string{"zero", "minus", "few", "many", "more", "one of two"},
			want:  map[string]window.Limits{"one of two": total(32768)},
		},
		{
			name: "entries of other kinds",
			answers: map[string]string{"/v1/models": `{"data":[1,"x",null,[],{"id":7,"context_length":4096},{},{"id":"","context_length":4096},
				{"id":"m","id":"m","context_length":4096,"deep":{"limits":{"context_length":5}}}],"data":null,"models":{"id":"n"}}`},
			asked: []string{"m"}, want: map[string]window.Limits{"m": total(4096)},
		},
		{
			name: "a server that answers everything with a chat", answers: map[string]string{
				"/v1/models": `{"id":"x","choices":[{"message":{"content":"hi"}}]}`, "/api/v1/models": `{"choices":[]}`, "/api/v0/models": `{}`,
				"/api/ps": `{"choices":[]}`, "/props": `{"choices":[]}`, "/info": `[]`, "/get_model_info": `"x"`,
			},
			asked: []string{"x"}, want: map[string]window.Limits{},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBackend(t, tc.answers)
			base := tc.base
			if base == "" {
				base = "/v1"
			}
			got, err := advertised(t, b.URL+base, nil, tc.asked...)
			if err != nil {
				t.Fatalf("Advertised: %v", err)
			}
			asked := map[string]window.Limits{}
			for _, name := range tc.asked {
				if l, ok := got.Models[name]; ok {
					asked[name] = l
				}
			}
			if !maps.Equal(asked, tc.want) {
				t.Errorf("got %v, want %v", asked, tc.want)
			}
			if got.Unloaded != tc.unloaded {
				t.Errorf("unloaded: %v, want %v", got.Unloaded, tc.unloaded)
			}
			questions := strings.Join(b.questions(), "\n")
			if tc.never != "" && strings.Contains(questions, tc.never) {
				t.Errorf("it was asked\n%s", questions)
			}
			if n := len(b.questions()); n > cmp.Or(tc.most, 8) {
				t.Errorf("it was asked\n%s", questions)
			}
		})
	}
}

func TestAdvertisedSendsTheCallersHeader(t *testing.T) {
	b := newBackend(t, map[string]string{"/v1/models?key=k": `{"data":[{"id":"m","context_length":4096}]}`})
	header := http.Header{"Authorization": {"Bearer sk"}, "X-Org": {"o"}, "Content-Type": {"application/json"}, "Content-Length": {"9"}, "Accept-Encoding": {"gzip"}}
	if _, err := advertised(t, b.URL+"/v1?key=k", header, "m"); err != nil {
		t.Fatalf("Advertised: %v", err)
	}
	h := b.header[0]
	if h.Get("Authorization") != "Bearer sk" || h.Get("X-Org") != "o" || h.Get("Content-Type") != "" || h.Get("Accept-Encoding") != "identity" {
		t.Errorf("the header was %v", h)
	}
	if len(header) != 5 || header.Get("Accept") != "" {
		t.Errorf("the caller's header changed: %v", header)
	}
}

// TestAdvertisedGoesNowhereElse: a redirect is not followed, so that neither the
// question nor the credential reaches another origin.
func TestAdvertisedGoesNowhereElse(t *testing.T) {
	other := newBackend(t, map[string]string{"/v1/models": `{"data":[{"id":"m","context_length":4096}]}`})
	b := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/models", http.StatusTemporaryRedirect))
	t.Cleanup(b.Close)
	got, err := advertised(t, b.URL+"/v1", http.Header{"Authorization": {"Bearer sk"}}, "m")
	var status *llm.StatusError
	if !errors.As(err, &status) || len(got.Models) != 0 {
		t.Errorf("Advertised = %+v, %v", got, err)
	}
	if asked := other.questions(); len(asked) != 0 {
		t.Errorf("the other origin was asked %q", asked)
	}
}

func TestAdvertisedFails(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   error // nil: any
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "SECRET-TEXT", http.StatusUnauthorized) }, new(llm.StatusError)},
		"broken": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "SECRET-TEXT", http.StatusInternalServerError)
		}, new(llm.StatusError)},
		"a page":  {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>SECRET-TEXT</html>") }, llm.ErrMalformed},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"data":[{"id":"SECRET-TEXT"`) }, llm.ErrMalformed},
		"a coding": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "SECRET-TEXT")
		}, llm.ErrMalformed},
		"hung up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := httptest.NewServer(tc.answer)
			t.Cleanup(b.Close)
			got, err := advertised(t, b.URL+"/v1?key=SECRET-TEXT", nil, "m")
			if err == nil || len(got.Models) != 0 {
				t.Fatalf("Advertised = %+v, %v", got, err)
			}
			var status *llm.StatusError
			if tc.want != nil && !errors.Is(err, tc.want) && !(errors.As(tc.want, &status) && errors.As(err, &status)) {
				t.Errorf("Advertised: %v, want %T", err, tc.want)
			}
			if strings.Contains(err.Error(), "SECRET-TEXT") {
				t.Errorf("the error tells: %v", err)
			}
		})
	}
}

func TestAdvertisedEndsWithItsContext(t *testing.T) {
	began := make(chan struct{})
	b := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	}))
	t.Cleanup(b.Close)
	base, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-began
		cancel(gone)
	}()
	c := llm.NewClient(nil)
	t.Cleanup(c.CloseIdleConnections)
	if _, err := c.Advertised(ctx, llm.AdvertisedCall{Base: base, Models: []string{"m"}}); !errors.Is(err, gone) {
		t.Errorf("Advertised: %v", err)
	}
}

// TestAdvertisedLongList: a list of thousands costs no more memory than a short
// one, and what was asked for is found wherever it stands.
func TestAdvertisedLongList(t *testing.T) {
	list := func(models int) string {
		var b strings.Builder
		b.WriteString(`{"data":[`)
		for i := range models {
			fmt.Fprintf(&b, `{"id":"v/m-%d","description":%q,"context_length":%d,"supported_parameters":["a","b"]},`, i, strings.Repeat("d", 1000), 4096+i)
		}
		b.WriteString(`{"id":"v/last","context_length":4096}]}`)
		return b.String()
	}
	b := newBackend(t, map[string]string{"/v1/models": list(5000), "/endless/models": list(20000)})
	got, err := advertised(t, b.URL+"/v1", nil, "v/last", "v/m-4000")
	if err != nil || got.Models["v/last"].Total != 4096 || got.Models["v/m-4000"].Total != 4096+4000 {
		t.Errorf("Advertised = %v, %v, %v", got.Models["v/last"], got.Models["v/m-4000"], err)
	}
	if len(got.Models) > 70 {
		t.Errorf("%d models are named", len(got.Models))
	}
	// Beyond 16 MiB nothing is read, and what stood before that counts.
	got, err = advertised(t, b.URL+"/endless", nil, "v/last", "v/m-7")
	if got.Models["v/m-7"].Total != 4096+7 || got.Models["v/last"].Total != 0 {
		t.Errorf("Advertised = %v, %v", got.Models["v/m-7"], err)
	}
}

func TestNearby(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:1": true, "127.0.0.1": true, "127.9.9.9:80": true, "[::1]:80": true, "10.1.2.3": true, "192.168.0.2:8000": true,
		"172.16.0.1": true, "172.32.0.1": false, "[fd00::1]": true, "[::ffff:127.0.0.1]": true, "169.254.1.1": true, "ollama:11434": true, "llm.internal": true,
		"box.local.": true, "api.openai.com": false, "8.8.8.8": false, "[2001:db8::1]": false, "localhost.example.com": false, "internal.example.com": false, "": false,
	} {
		if got := llm.Nearby(&url.URL{Scheme: "http", Host: host}); got != want {
			t.Errorf("Nearby(%q) = %v, want %v", host, got, want)
		}
	}
}

// roundTrip answers without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAdvertisedByAnthropic: its list wants the key in another field.
func TestAdvertisedByAnthropic(t *testing.T) {
	var got http.Header
	c := llm.NewClient(roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r.Header
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"data":[{"id":"m","max_input_tokens":200000}]}`))}, nil
	}))
	base := &url.URL{Scheme: "https", Host: "api.anthropic.com", Path: "/v1"}
	a, err := c.Advertised(t.Context(), llm.AdvertisedCall{Base: base, Header: http.Header{"Authorization": {"Bearer sk"}}, Models: []string{"m"}})
	if err != nil || a.Models["m"].Input != 200000 || a.Changing {
		t.Errorf("Advertised = %+v, %v", a, err)
	}
	if got.Get("X-Api-Key") != "sk" || got.Get("Anthropic-Version") == "" {
		t.Errorf("the header was %v", got)
	}
}

// TestAdvertisedFarAway: a server that is not nearby and does not show what it is
// gets one question.
func TestAdvertisedFarAway(t *testing.T) {
	var asked []string
	c := llm.NewClient(roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"data":[{"id":"m","owned_by":"openai"}]}`))}, nil
	}))
	base := &url.URL{Scheme: "https", Host: "api.example.com", Path: "/v1/"}
	a, err := c.Advertised(t.Context(), llm.AdvertisedCall{Base: base, Models: []string{"m"}})
	if err != nil || len(a.Models) != 0 || len(asked) != 1 || asked[0] != "https://api.example.com/v1/models" {
		t.Errorf("Advertised = %+v, %v; asked %q", a, err, asked)
	}
}

// BenchmarkAdvertised bounds what a list of some hundred models costs beside a
// request: milliseconds on a goroutine of its own.
func BenchmarkAdvertised(b *testing.B) {
	var list strings.Builder
	list.WriteString(`{"data":[`)
	for i := range 400 {
		fmt.Fprintf(&list, `{"id":"v/m-%d","description":%q,"context_length":%d,"top_provider":{"context_length":8192}},`, i, strings.Repeat("d", 2000), 4096+i)
	}
	list.WriteString(`{"id":"v/last","context_length":4096}]}`)
	c := llm.NewClient(roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(list.String()))}, nil
	}))
	base := &url.URL{Scheme: "https", Host: "api.example.com", Path: "/v1"}
	b.SetBytes(int64(list.Len()))
	b.ReportAllocs()
	for b.Loop() {
		a, err := c.Advertised(b.Context(), llm.AdvertisedCall{Base: base, Models: []string{"v/last"}})
		if err != nil || a.Models["v/last"].Total != 4096 {
			b.Fatalf("Advertised = %v, %v", a.Models["v/last"], err)
		}
	}
}

func FuzzAdvertised(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"m","context_length":4096,"top_provider":{"context_length":2048}}],"has_more":true}`), "m")
	f.Add([]byte(`{"models":[{"key":"m","loaded_instances":[{"id":"m:2","config":{"context_length":4096}},7],"max_context_length":9000}]}`), "m:2")
	f.Add([]byte(`[{"id":"m","owned_by":"llamacpp","status":{"value":"loaded"},"aliases":["a",1],"meta":{"n_ctx":4096}}]`), "a")
	f.Add([]byte(`{"default_generation_settings":{"n_ctx":8192},"max_input_tokens":"4000"}`), "x")
	f.Add([]byte(`{"data":[{"id":"\ud800","context_length":1e400},`), "\xff")
	f.Fuzz(func(t *testing.T, body []byte, name string) {
		c := llm.NewClient(roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(body)))}, nil
		}))
		base := &url.URL{Scheme: "http", Host: "localhost", Path: "/v1"}
		a, err := c.Advertised(t.Context(), llm.AdvertisedCall{Base: base, Models: []string{name}})
		if err != nil && len(a.Models) > 0 {
			t.Errorf("%v with %v", a, err)
		}
		for name, l := range a.Models {
			if l.Total == 0 && l.Input == 0 || l.Total != 0 && l.Total < window.MinLearned || l.Total > window.MaxLearned ||
				l.Input != 0 && l.Input < window.MinLearned || l.Input > window.MaxLearned || l.Output < 0 || l.Output > window.MaxLearned {
				t.Errorf("%q: %+v", name, l)
			}
		}
		if len(a.Models) > 100 {
			t.Errorf("%d models", len(a.Models))
		}
	})
}
