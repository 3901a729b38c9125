package main

import (
	"strings"
	"unicode/utf8"

	"github.com/foldgate/foldgate/compression/window"
)

// kept is what a method without a fold leaves of a conversation.
type kept struct {
	text string
	cut  int  // the first message of the newest part
	ok   bool // false: what no fold can change leaves less than a tenth of the budget
}

// dropOldest keeps the head and the newest groups that fit, the way a client
// does that throws away the oldest. If not even the newest group fits, the middle
// of its text goes.
func dropOldest(c conversation, budget window.Tokens) kept {
	return drop(c, budget, 0)
}

// dropMiddle spends half of what the head leaves on the oldest groups and the
// rest on the newest.
func dropMiddle(c conversation, budget window.Tokens) kept {
	return drop(c, budget, 50)
}

func drop(c conversation, budget window.Tokens, oldest int) kept {
	v := c.view
	left := budget - fixed(c)
	if left*10 < budget {
		return kept{}
	}
	texts := append([]string(nil), c.texts[:v.Head]...)
	first, sum := 0, window.Tokens(0) // the oldest part is what comes before first
	for n, room := 0, left*window.Tokens(oldest)/100; n < v.Len(); {
		sum += v.Reference(n)
		if n++; sum > room {
			break
		}
		if whole(c, n) {
			first = n
		}
	}
	for i := range first {
		left -= v.Reference(i)
		texts = append(texts, c.texts[v.Head+i])
	}
	cut := newest(c, first, left)
	rest := strings.Join(c.texts[v.Head+cut:], "\n")
	if over := sumOf(c, cut); over > left {
		rest = cutMiddle(rest, int(int64(len(rest))*int64(max(left, 0))/int64(over)))
	}
	texts = append(texts, rest)
	return kept{text: strings.Join(texts, "\n"), cut: v.Head + cut, ok: true}
}

// newest is the oldest cut from first on behind which everything fits, or the one
// before the newest group.
func newest(c conversation, first int, left window.Tokens) int {
	cut, size := -1, window.Tokens(0)
	for n := c.view.Len() - 1; n >= first; n-- {
		size += c.view.Reference(n)
		if cut >= 0 && size > left {
			break
		}
		if whole(c, n) {
			cut = n
		}
	}
	return max(cut, first)
}

// whole reports whether the messages may be cut before the one at position n
// without dividing a call from its results, as a client would tell.
func whole(c conversation, n int) bool {
	return n == c.view.Len() || !c.view.Messages[c.view.Head+n].Role.Result()
}

// fixed is what no fold can change: head, tools, response format.
func fixed(c conversation) window.Tokens { return c.view.Total() - sumOf(c, 0) }

// sumOf is what the messages from position n on cost.
func sumOf(c conversation, n int) window.Tokens {
	var sum window.Tokens
	for i := n; i < c.view.Len(); i++ {
		sum += c.view.Reference(i)
	}
	return sum
}

// cutMiddle keeps the beginning and the end of a text.
func cutMiddle(s string, room int) string {
	if len(s) <= room {
		return s
	}
	head, tail := room/2, len(s)-room/2
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "\n" + s[tail:]
}
