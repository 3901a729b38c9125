//go:build ignore

// The OpenAI SDK for Go in front of Foldgate. docs/clients/openai-go.md shows its
// parts. The SDK is no dependency of Foldgate: run this in a module that has it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	client := openai.NewClient(
		option.WithAPIKey(os.Getenv("OPENAI_API_KEY")),
		option.WithBaseURL("http://127.0.0.1:8080/v1"), // the one line
	)
	request := openai.ChatCompletionNewParams{
		Model:    "stand-in",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
	}
	ctx := context.Background()

	var response *http.Response
	answer, err := client.Chat.Completions.New(ctx, request,
		option.WithResponseInto(&response), option.WithRequestTimeout(20*time.Second))
	var refused *openai.Error
	switch {
	case errors.As(err, &refused) && refused.Code == "context_length_exceeded":
		fmt.Println(refused.Response.Header.Get("Foldgate-Fold"), refused.Message)
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println(answer.Choices[0].Message.Content)
		fmt.Println(response.Header.Get("Foldgate-Fold"))
	}

	stream := client.Chat.Completions.NewStreaming(ctx, request)
	for stream.Next() {
		if choices := stream.Current().Choices; len(choices) > 0 {
			fmt.Print(choices[0].Delta.Content)
		}
	}
	fmt.Println()
	if err := stream.Err(); err != nil {
		log.Fatal(err)
	}
}
