module github.com/foldgate/foldgate/e2e/clients

go 1.26.0

replace github.com/foldgate/foldgate => ../..

require (
	github.com/foldgate/foldgate v0.0.0
	github.com/google/go-cmp v0.7.0
	github.com/openai/openai-go/v3 v3.99.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/dlclark/regexp2/v2 v2.5.1 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	github.com/tiktoken-go/tokenizer v0.10.0 // indirect
	golang.org/x/image v0.48.0 // indirect
)
