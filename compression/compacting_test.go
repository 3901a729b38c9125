package compression_test

import (
	"fmt"
	"strings"
	"testing"
)

// wants are ways in which agents word it that they compact, one of each class.
var wants = map[string]string{
	"verb":                    "Please summarize our conversation so far.",
	"verb, history":           "Summarise the entire message history above in detail.",
	"verb, adverb":            "Briefly condense this partial conversation about programming.",
	"verb, task":              "Your job is to compact the conversation for later use.",
	"verb, now":               "Now compress the messages above into notes.",
	"noun":                    "Create a detailed summary of the conversation up to this point, and leave nothing out.",
	"noun, task":              "Your task is to write a thorough summary of our chat.",
	"noun, new":               "Create a new anchored summary from the conversation history.",
	"noun, update":            "Update the summary below with the new messages.",
	"noun, checkpoint":        "You are performing a CONTEXT CHECKPOINT compaction.",
	"noun, structured":        "Make a structured context checkpoint, which another LLM uses to go on.",
	"noun, successor":         "Write a handoff summary for the next model, which will resume the task.",
	"noun, prompt":            "Provide a detailed prompt for continuing our conversation above.",
	"part":                    "You are an assistant tasked with summarizing conversations.",
	"part, performing":        "You are compacting the current session.",
	"capitals and marks":      "**TASK**\n\n> SUMMARIZE THE CONVERSATION <ABOVE>!",
	"over two lines":          "Write a short, structured\nsummary of this session.",
	"behind another sentence": "Stop. Do not call tools. Provide a summary of everything in this conversation.",
}

// unwanted are no such wishes.
var unwanted = []string{
	"continue", "thanks", "Summarize this article.", "Summarize the history of Rome.", "Please summarize the report below.",
	"Write a function to summarize messages by sender.", "The conversation summary is wrong, fix it.", "Why does the chat summary say so?",
	"Write a summary of chapter two.", "Create a checkpoint of the database before the migration.", "Compact the database files.",
	"Compress the images in this folder.", "What did we say about the history of the summary table?", "Give me the context.",
	"I had a session with my doctor. Write a letter.", "Create a session store.", "Provide more context on the messages table.",
	"How does context compaction work?", "Generate a handoff.", "Make the model continue.", "",
}

func userOnly(text, more string) string {
	return fmt.Sprintf(`{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"},{"role":"user","content":%s}]%s}`, quote(text), more)
}

func TestCompacting(t *testing.T) {
	for name, text := range wants {
		if !view(t, userOnly(text, "")).Compacting() {
			t.Errorf("%s: not seen in %q", name, text)
		}
	}
	for _, text := range unwanted {
		if view(t, userOnly(text, "")).Compacting() {
			t.Errorf("seen in %q", text)
		}
	}
}

func TestCompactingPlaces(t *testing.T) {
	wish := wants["noun"]
	long := strings.Repeat("user: what about the garden? assistant: it grows.\n", 2000)
	tests := []struct {
		name, body string
		want       bool
	}{
		{"before a transcript", userOnly(wish+"\n\n"+long, ""), true},
		{"behind a transcript", userOnly(long+"\n\n"+wish, ""), true},
		{"within a transcript", userOnly(long+"\n\n"+wish+"\n\n"+long, ""), false},
		{"tools", userOnly(wish, `,"tools":[{"type":"function","function":{"name":"f"}}]`), false},
		{"functions", userOnly(wish, `,"functions":[{"name":"f"}]`), false},
		{"tools that may not be called", userOnly(wish, `,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none"`), true},
		{"an empty list of tools", userOnly(wish, `,"tools":[ ]`), true},
		{"tools null", userOnly(wish, `,"tools":null`), true},
		{"in parts", `{"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":` + quote(wish) + `}]}]}`, true},
		{"an assistant's", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":` + quote(wish) + `}]}`, false},
		{"an earlier user's", `{"messages":[{"role":"user","content":` + quote(wish) + `},{"role":"assistant","content":"x"},{"role":"user","content":"go on"}]}`, false},
		{"in the head, before one message", `{"messages":[{"role":"system","content":` + quote(wish) + `},{"role":"user","content":"# USER\nhi"}]}`, true},
		{"in the head, before several", `{"messages":[{"role":"system","content":` + quote(wish) + `},{"role":"user","content":"hi"},{"role":"assistant","content":"hi"},{"role":"user","content":"hi"}]}`, false},
		{"nothing but a head", `{"messages":[{"role":"system","content":` + quote(wish) + `}]}`, false},
		{"no messages", `{"messages":[]}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := view(t, tt.body).Compacting(); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

// TestCompactingRecorded: no recorded request is taken for one, even without its
// tools.
func TestCompactingRecorded(t *testing.T) {
	eachRequest(t, func(name, body string) {
		if view(t, `{"tool_choice":"none",`+strings.TrimLeft(body, " \n\t{")).Compacting() {
			t.Errorf("%s: taken for a client that compacts", name)
		}
	})
}
