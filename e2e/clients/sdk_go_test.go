package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// The official OpenAI SDK for Go, in this process.
func TestOpenAIGo(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`openai-go/v3 v(\S+)`).FindSubmatch(mod)
	if version == nil {
		t.Fatal("go.mod requires no SDK")
	}
	client{name: "OpenAI SDK for Go", version: string(version[1]), drive: driveGo, leaves: 2}.test(t)
}

// goSDK drives the SDK against one base URL.
type goSDK struct {
	ctx context.Context // the test's
	sdk openai.Client
}

func driveGo(t *testing.T, baseURL string) []outcome {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	g := &goSDK{ctx: t.Context()}
	g.sdk = openai.NewClient(option.WithBaseURL(baseURL), option.WithAPIKey(apiKey), option.WithHTTPClient(&http.Client{Transport: transport}))
	var all []outcome
	for _, c := range g.cases() {
		o := outcome{Case: c.name, OK: true}
		var err error
		if o.Said, o.Seen, err = c.drive(c.name); err != nil {
			o.OK, o.Wrong = false, err.Error()
		}
		all = append(all, o)
	}
	return all
}

type goCase struct {
	name  string
	drive func(name string) (said string, seen any, err error)
}

func (g *goSDK) cases() []goCase {
	cases := []goCase{
		{"plain", g.plain},
		{"stream", g.stream},
		{"tools", func(string) (string, any, error) { return g.tools(g.ask) }},
		{"tools-stream", func(string) (string, any, error) { return g.tools(g.askStreaming) }},
		{"schema", g.schema},
		{"image", g.image},
		{"reasoning", g.reasoning},
		{"cancel", g.cancel},
		{"timeout", g.timeout},
	}
	for _, name := range []string{"retry-429", "retry-500", "retry-reset"} {
		cases = append(cases, goCase{name, g.plain})
	}
	for _, status := range []int{401, 404, 429, 400} {
		cases = append(cases, goCase{fmt.Sprintf("error-%d", status), func(name string) (string, any, error) { return g.refused(largeModel, "@"+name, status) }})
	}
	return append(cases,
		goCase{"error-reset", g.reset},
		goCase{"unfit", g.unfit},
		goCase{"unfit-far", g.unfit},
		goCase{"fold", func(name string) (string, any, error) { return g.folding(smallModel, name, g.ask) }},
		goCase{"fold-stream", func(name string) (string, any, error) { return g.folding(smallModel, name, g.askStreaming) }},
		goCase{"fold-unknown", func(name string) (string, any, error) { return g.folding(unknownModel, name, g.ask) }},
		goCase{"models", g.models},
		goCase{"embeddings", g.embeddings},
	)
}

func asking(name string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: largeModel, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("@" + name)}}
}

func (g *goSDK) ask(p openai.ChatCompletionNewParams, o ...option.RequestOption) (*openai.ChatCompletion, error) {
	return g.sdk.Chat.Completions.New(g.ctx, p, o...)
}

// askStreaming is ask by way of a stream.
func (g *goSDK) askStreaming(p openai.ChatCompletionNewParams, o ...option.RequestOption) (*openai.ChatCompletion, error) {
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	s := g.sdk.Chat.Completions.NewStreaming(g.ctx, p, o...)
	defer s.Close()
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		if !acc.AddChunk(s.Current()) {
			return nil, errors.New("a chunk does not fit what came before")
		}
	}
	return &acc.ChatCompletion, s.Err()
}

// answeredGo is the outcome of a case in which the usual text came back.
func answeredGo(c *openai.ChatCompletion, err error) (string, any, error) {
	if err != nil {
		return "", nil, err
	}
	if text := c.Choices[0].Message.Content; text != said {
		return "", nil, fmt.Errorf("got %q", text)
	}
	if c.Usage.CompletionTokens != 9 {
		return "", nil, fmt.Errorf("usage %+v", c.Usage)
	}
	return "answer", c.Choices[0].Message.Content + fmt.Sprint(c.ID, c.Model, c.Usage.PromptTokens, c.Choices[0].FinishReason), nil
}

func (g *goSDK) plain(name string) (string, any, error) { return answeredGo(g.ask(asking(name))) }
func (g *goSDK) stream(name string) (string, any, error) {
	return answeredGo(g.askStreaming(asking(name)))
}

func (g *goSDK) tools(ask func(openai.ChatCompletionNewParams, ...option.RequestOption) (*openai.ChatCompletion, error)) (string, any, error) {
	p := asking("tools")
	p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "tide", Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"harbour": map[string]any{"type": "string"}}},
	})}
	first, err := ask(p)
	if err != nil {
		return "", nil, err
	}
	m := first.Choices[0].Message
	p.Messages = append(p.Messages, m.ToParam())
	var args []string
	for _, c := range m.ToolCalls {
		args = append(args, c.Function.Arguments)
		p.Messages = append(p.Messages, openai.ToolMessage("high", c.ID))
	}
	second, err := ask(p)
	if err != nil {
		return "", nil, err
	}
	text := second.Choices[0].Message.Content
	if len(args) != 2 || text != "The results are call_rostock=high and call_bergen=high." {
		return "", nil, fmt.Errorf("calls %q, answer %q", args, text)
	}
	return "two calls, answer", fmt.Sprint(args, text), nil
}

func (g *goSDK) schema(name string) (string, any, error) {
	p := asking(name)
	p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "harbour", Strict: openai.Bool(true), Schema: map[string]any{"type": "object", "properties": map[string]any{"harbour": map[string]any{"type": "string"}}},
	}}
	c, err := g.ask(p)
	if err != nil {
		return "", nil, err
	}
	var got struct {
		Harbour string
		Berths  int
	}
	if err := json.Unmarshal([]byte(c.Choices[0].Message.Content), &got); err != nil || got.Berths != 7 {
		return "", nil, fmt.Errorf("got %+v, %w", got, err)
	}
	return "parsed object", got.Harbour, nil
}

func (g *goSDK) image(name string) (string, any, error) {
	const data, address = "data:image/png;base64,iVBORw0KGgo=", "https://example.com/harbour.png"
	p := asking(name)
	p.Messages[0] = openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart("@" + name),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: data}),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: address, Detail: "low"}),
	})
	c, err := g.ask(p)
	if err != nil {
		return "", nil, err
	}
	text := c.Choices[0].Message.Content
	if want := fmt.Sprintf("I see data of %d bytes and https of %d bytes.", len(data), len(address)); text != want {
		return "", nil, fmt.Errorf("got %q, want %q", text, want)
	}
	return "both images seen", text, nil
}

func (g *goSDK) reasoning(name string) (string, any, error) {
	p := asking(name)
	p.ReasoningEffort = shared.ReasoningEffortLow
	c, err := g.ask(p)
	if err != nil {
		return "", nil, err
	}
	if got := c.Choices[0].Message.JSON.ExtraFields["reasoning_content"].Raw(); got != `"First I thought about it."` {
		return "", nil, fmt.Errorf("reasoning %s", got)
	}
	return answeredGo(c, nil)
}

func (g *goSDK) cancel(name string) (string, any, error) {
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel()
	s := g.sdk.Chat.Completions.NewStreaming(ctx, asking(name))
	defer s.Close()
	text := ""
	for s.Next() {
		if text += s.Current().Choices[0].Delta.Content; text == "one two " {
			cancel()
		}
	}
	if !errors.Is(s.Err(), context.Canceled) {
		return "", nil, fmt.Errorf("%q, then %w", text, s.Err())
	}
	return "left in mid-stream", text, nil
}

func (g *goSDK) timeout(name string) (string, any, error) {
	_, err := g.ask(asking(name), option.WithMaxRetries(0), option.WithRequestTimeout(time.Second))
	if !errors.Is(err, context.DeadlineExceeded) {
		return "", nil, fmt.Errorf("got %w", err)
	}
	return "context.DeadlineExceeded", nil, nil
}

// refused wants the SDK's own error.
func (g *goSDK) refused(model, content string, status int) (string, any, error) {
	p := openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(content)}}
	_, err := g.ask(p, option.WithMaxRetries(0))
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != status || e.Code == "" {
		return "", nil, fmt.Errorf("got %w", err)
	}
	seen := fmt.Sprint(e.StatusCode, e.Code, e.Type, e.Param, e.Response.Header.Get("X-Request-Id"), e.Response.Header.Get("Retry-After"))
	return fmt.Sprintf("openai.Error %d %s", e.StatusCode, e.Code), seen, nil
}

func (g *goSDK) reset(name string) (string, any, error) {
	_, err := g.ask(asking(name), option.WithMaxRetries(0))
	var e *openai.Error
	switch {
	case errors.As(err, &e):
		return fmt.Sprintf("openai.Error %d %s", e.StatusCode, e.Code), nil, nil
	case err != nil:
		return "connection error", nil, nil
	}
	return "", nil, errors.New("it succeeded and should have failed")
}

func (g *goSDK) unfit(name string) (string, any, error) {
	n := 12_000
	if name == "unfit-far" {
		n *= 5
	}
	said, seen, err := g.refused(smallModel, strings.Repeat("alpha bravo ", n/2)+"@"+name, 400)
	if err == nil && !strings.HasSuffix(said, "context_length_exceeded") {
		err = errors.New(said)
	}
	return said, seen, err
}

// folding is a request over the window: refused direct, answered through the gateway.
func (g *goSDK) folding(model, name string, ask func(openai.ChatCompletionNewParams, ...option.RequestOption) (*openai.ChatCompletion, error)) (string, any, error) {
	p := openai.ChatCompletionNewParams{Model: model, Messages: append(longTalk(), openai.UserMessage("And now? @"+name))}
	var res *http.Response
	c, err := ask(p, option.WithMaxRetries(0), option.WithResponseInto(&res))
	var e *openai.Error
	if errors.As(err, &e) && e.Code == "context_length_exceeded" {
		return "openai.Error 400 context_length_exceeded", nil, nil
	}
	if said, _, err := answeredGo(c, err); err != nil {
		return said, nil, err
	}
	return "answer, Foldgate-Fold: " + res.Header.Get("Foldgate-Fold"), nil, nil
}

// longTalk is a conversation of some 13,000 tokens.
func longTalk() []openai.ChatCompletionMessageParamUnion {
	all := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("You know harbours.")}
	for i := range 40 {
		var b strings.Builder
		for k := range 140 {
			b.WriteString(pick(i, k, 0) + " ")
		}
		all = append(all,
			openai.UserMessage(fmt.Sprintf("Question %d: what of harbour number %d? %s", i, i, b.String())),
			openai.AssistantMessage(fmt.Sprintf("Harbour number %d has %d berths. %s", i, i+3, b.String())))
	}
	return all
}

func (g *goSDK) models(string) (string, any, error) {
	page, err := g.sdk.Models.List(g.ctx)
	if err != nil {
		return "", nil, err
	}
	if len(page.Data) != 2 || page.Data[0].ID != largeModel {
		return "", nil, fmt.Errorf("got %+v", page.Data)
	}
	return "two models", page.RawJSON(), nil
}

func (g *goSDK) embeddings(string) (string, any, error) {
	got, err := g.sdk.Embeddings.New(g.ctx, openai.EmbeddingNewParams{Model: "text-embedding-3-small", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("harbour")}})
	if err != nil {
		return "", nil, err
	}
	if len(got.Data) != 1 || got.Data[0].Embedding[1] != -0.25 {
		return "", nil, fmt.Errorf("got %s", got.RawJSON())
	}
	return "one vector", got.RawJSON(), nil
}
