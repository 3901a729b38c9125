package main

import "strings"

// budgets are the shares, in percent, of a conversation's tokens that are measured.
var budgets = [...]int{10, 25, 50}

// aim is what a mean over the development files should reach; zero: no target.
type aim struct {
	by    method
	reach [len(budgets)]float64
}

// aims are the targets for the means.
func aims() []aim {
	return []aim{
		{byRecall, [...]float64{0.70, 0.88, 0}},
		{byFold, [...]float64{0.60, 0.82, 0}},
		{byNoIndex, [...]float64{0.55, 0.78, 0}},
	}
}

// slack is how far a file may stay under its own target.
const slack = 0.05

// fileAim is the target of a file, without recall and with it, at 10 and 25 %.
type fileAim struct {
	prefix        string
	without, with [2]float64
}

func fileAims() []fileAim {
	both := func(prefix string, at10, at25 float64) fileAim {
		return fileAim{prefix, [2]float64{at10, at25}, [2]float64{at10, at25}}
	}
	return []fileAim{
		{"chat-memory-en", [2]float64{0.25, 0.50}, [2]float64{0.75, 0.85}},
		{"chat-memory-zh", [2]float64{0.25, 0.45}, [2]float64{0.80, 0.90}},
		both("chat-lodging-ja", 0.30, 0.60),
		both("agent-assistant-hi", 0.60, 0.80),
		both("agent-airline", 0.65, 0.95),
		both("agent-sre-logs", 0, 0.95),
		both("agent-code-pi", 0.85, 0.95),
		both("agent-research-web", 0.75, 0.85),
		both("agent-website-zh", 0.28, 0.60),
		both("agent-sre-holmes-005", 0.90, 1),
		both("agent-sre-holmes-007", 0.90, 1),
	}
}

// aimOf is the target of a file, if it has one.
func aimOf(name string) (fileAim, bool) {
	for _, a := range fileAims() {
		if strings.HasPrefix(name, a.prefix) {
			return a, true
		}
	}
	return fileAim{}, false
}

// group is the files that count as one in a mean; empty: the file measures
// nothing, since its facts stand in its end, or it has one.
func group(name string) string {
	switch {
	case strings.HasPrefix(name, "agent-sre-holmes-"):
		return "agent-sre-holmes"
	case strings.HasPrefix(name, "log-giant"), strings.HasPrefix(name, "images"):
		return ""
	}
	return name
}

// mean is the mean of a score over the groups of files that have one, and how
// many groups these are.
func mean(results []result, of func(*result) score) (float64, int) {
	sums, counts := map[string]float64{}, map[string]int{}
	var order []string
	for i := range results {
		name := group(results[i].file.name)
		recall, ok := of(&results[i]).share()
		if name == "" || !ok {
			continue
		}
		if counts[name] == 0 {
			order = append(order, name)
		}
		sums[name] += recall
		counts[name]++
	}
	total := 0.0
	for _, name := range order {
		total += sums[name] / float64(counts[name])
	}
	if len(order) == 0 {
		return 0, 0
	}
	return total / float64(len(order)), len(order)
}

// laterAim is how many percent of the identifiers that were needed after a real
// compaction a handoff of so many bytes should hold; zero: no target.
func laterAim(size int) int {
	switch size {
	case recordedSize:
		return 22
	case 16_000:
		return 50
	}
	return 0
}

// vocabularyOf names who counted what a file records, and by which vocabulary.
func vocabularyOf(name string) string {
	switch {
	case strings.HasPrefix(name, "agent-code-pi"):
		return "the provider: Claude Opus 4.5, vocabulary not published; with its own system prompt and tools"
	case strings.HasPrefix(name, "images"):
		return "the provider: gpt-5-mini, o200k_base, and its price for pictures, of which one is an address of unknown size"
	case strings.HasPrefix(name, "agent-sre-logs"):
		return "the client, message by message, for Claude Sonnet 4.5"
	}
	return "unknown"
}
