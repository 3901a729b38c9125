package clients

import "testing"

// The clients of the npm registry. Each breaks off two requests: cancel, and
// timeout.

func TestOpenAINode(t *testing.T) {
	needInstalled(t)
	client{name: "OpenAI SDK for Node", version: versionOf(t, "openai"), drive: nodeScript("openai.mjs"), leaves: 2}.test(t)
}

func TestAISDKOpenAI(t *testing.T) {
	needInstalled(t)
	client{name: "AI SDK, @ai-sdk/openai", version: versionOf(t, "ai"), drive: nodeScript("ai-sdk.mjs", "openai"), leaves: 2}.test(t)
}

func TestAISDKCompatible(t *testing.T) {
	needInstalled(t)
	client{name: "AI SDK, openai-compatible", version: versionOf(t, "ai"), drive: nodeScript("ai-sdk.mjs", "compatible"), leaves: 2}.test(t)
}

func TestLangChain(t *testing.T) {
	needInstalled(t)
	client{name: "LangChain.js", version: versionOf(t, "@langchain/openai"), drive: nodeScript("langchain.mjs"), leaves: 2}.test(t)
}

func TestOpenAIAgents(t *testing.T) {
	needInstalled(t)
	client{name: "OpenAI Agents SDK for JS", version: versionOf(t, "@openai/agents"), drive: nodeScript("agents.mjs"), leaves: 2}.test(t)
}
