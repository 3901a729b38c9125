package compression

import (
	"slices"
	"strings"
	"unicode"
)

// A summary may say that the user wanted something that no user ever wrote: made
// up, or taken from a page that a tool brought. What is checked is small, so that
// no honest summary is refused: sentences in English that say so outright, in a
// conversation in English, with at least two words that mean something and none
// of which the user, or what the user answered to, ever used. Who wrote little is
// told of in other words ("make it faster": the user wants performance
// improvements); then it is judged only where a tool printed the words.

const (
	claimWords = 2  // words of a claim that must mean something for it to be judged
	stemRunes  = 4  // letters by which two words count as the same
	englishIn  = 12 // one word in so many of an English text is one of the usual ones
	answeredTo = 4 << 10
	saidEnough = 100 // words of users from which on a summary has some of them
)

// claimVerbs is what makes a sentence about the user a claim.
const claimVerbs = "asked asks requested wants wanted said told tells instructed demanded demands ordered insisted insists"

// noClaim is what makes of such a sentence something else.
const noClaim = "not no never nobody none didn't doesn't hasn't without whether if unless"

// clauseEnds are words after which a sentence goes on to something else.
const clauseEnds = "and but so because which while after before then since when where who"

// plainWords say nothing about what was asked for: how anything is asked for, or
// the usual ways to name work and answers.
const plainWords = "the a an and or but of to in on at for with by from as is are was were be been being it its this that these those they them their " +
	"he she his her him you your we our us i my me who what which when where why how all any some each every both more most other another new next last first " +
	"not no never if then than so also only just still again now later before after while during until about into over under up down out off between " +
	"can could should would will may might must do does did done have has had having get got make made making let lets " +
	"user users user's assistant agent model system tool tools conversation chat session message messages request requests requested asked asks asking ask " +
	"wants wanted want wanting said says say saying told tells tell instructed instruct instructions needs need needed required requires demanded demands ordered insisted insists " +
	"would like please help helped work working works task tasks thing things something anything everything part parts step steps way ways " +
	"fix fixed fixing bug bugs issue issues problem problems error errors help check checked look review explain explained explanation write wrote written create created " +
	"change changes changed update updated add added implement implemented implementation build built continue continued proceed go going start started finish finished complete completed " +
	"answer answers answered question questions reply replies response responses information info details detail detailed summary summarize result results output " +
	"concise short brief brevity simple clear clearly quick quickly careful carefully polite style format tone language english use used using provide provided show shown give given " +
	"code file files project goal current currently following specific specifically several various additional further end beginning"

// englishWords and otherWords tell whether a text is in English.
const (
	englishWords = "the and of to is that this with for you please what how can it from my should want need are not"
	otherWords   = "der die das und ist nicht ein eine für mit ich bitte wie el los las que una por con para como le les des et est pour une dans avec " +
		"il che di non per sono uma não com você het een niet van ik och att det som inte är jag się nie jest jak proszę"
)

// claim is a sentence that says what the user wanted, and the words that say it.
type claim struct {
	sentence string
	wanted   []string
}

// invents reports whether a text names requests of the user that nobody made.
func (v *View) invents(text string, prev *Handoff, covered int) bool {
	claims := claimsIn(text)
	if len(claims) == 0 {
		return false
	}
	said := v.saidBy(covered)
	switch {
	case !said.anybody:
		return true
	case !said.english():
		return false
	case prev != nil:
		body, _ := Body(prev.Text)
		said.add(body)
	}
	plain := wordSet(plainWords)
	for _, c := range claims {
		if meaning(c.wanted, plain) < claimWords || said.knows(c.sentence, plain) {
			continue
		}
		if said.words >= saidEnough || v.printed(covered, c.wanted, plain) {
			return true
		}
	}
	return false
}

// printed reports whether a sentence that a tool printed, in the first n messages,
// holds words of a claim.
func (v *View) printed(n int, wanted []string, plain map[string]bool) bool {
	at := map[string]int{} // by stem, a number for each
	for _, word := range wanted {
		if stem := stemOf(word); means(word, plain) && at[stem] == 0 {
			at[stem] = len(at) + 1
		}
	}
	seen := make([]bool, len(at)+1)
	for p := range n {
		if !v.Messages[v.Head+p].Role.Result() {
			continue
		}
		for line := range strings.Lines(v.Text(v.Head + p)) {
			for sentence := range sentencesOf(line) {
				clear(seen)
				held := 0
				for word := range wordsIn(sentence) {
					if i := at[stemOf(word)]; i > 0 && !seen[i] {
						seen[i] = true
						held++
					}
				}
				if held >= claimWords {
					return true
				}
			}
		}
	}
	return false
}

// meaning counts the words that say what was wanted.
func meaning(words []string, plain map[string]bool) int {
	n := 0
	for _, word := range words {
		if means(word, plain) {
			n++
		}
	}
	return n
}

func means(word string, plain map[string]bool) bool { return len(word) >= 3 && !plain[word] }

// claimsIn finds the sentences of a text that say outright what the user wanted.
func claimsIn(text string) []claim {
	if !containsFold(text, "user") {
		return nil
	}
	var out []claim
	verbs, not, ends := wordSet(claimVerbs), wordSet(noClaim), wordSet(clauseEnds)
	for line := range strings.Lines(text) {
		for sentence := range sentencesOf(line) {
			if !containsFold(sentence, "user") || has(sentence, not) {
				continue
			}
			for _, clause := range strings.FieldsFunc(sentence, func(r rune) bool { return strings.ContainsRune(",()—–", r) }) {
				if wanted, ok := wantedIn(clause, verbs, ends); ok {
					out = append(out, claim{sentence, wanted})
				}
			}
		}
	}
	return out
}

func has(text string, set map[string]bool) bool {
	for word := range wordsIn(text) {
		if set[word] {
			return true
		}
	}
	return false
}

// wantedIn are the words of a claim: "the user wants …", "User asked: …", "… as
// asked by the user". A user who is one of many ("a user asked in the forum") is
// not meant.
func wantedIn(clause string, verbs, ends map[string]bool) (wanted []string, ok bool) {
	words := slices.Collect(wordsIn(clause))
	for i, word := range words {
		if word != "user" {
			continue
		}
		if i >= 3 && words[i-1] == "the" && words[i-2] == "by" && verbs[words[i-3]] {
			return words[:i-3], true
		}
		if i > 0 && words[i-1] != "the" {
			continue
		}
		rest := words[i+1:]
		switch {
		case len(rest) > 0 && verbs[rest[0]]:
			rest = rest[1:]
		case len(rest) > 1 && rest[0] == "would" && rest[1] == "like":
			rest = rest[2:]
		default:
			continue
		}
		if end := slices.IndexFunc(rest, func(w string) bool { return ends[w] }); end >= 0 {
			rest = rest[:end]
		}
		return rest, true
	}
	return nil, false
}

// sentencesOf divides a line.
func sentencesOf(line string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i, r := range line {
			end := r == ';' || r == '。' || r == '！' || r == '？' ||
				(r == '.' || r == '!' || r == '?') && (i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\n')
			if end {
				if !yield(line[start:i]) {
					return
				}
				start = i + len(string(r))
			}
		}
		yield(line[start:])
	}
}

// wordsIn are the words of a text in lower case: runs of letters, digits and
// apostrophes.
func wordsIn(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
		}) {
			word = strings.Trim(strings.ToLower(strings.ReplaceAll(word, "’", "'")), "'")
			if word != "" && !yield(word) {
				return
			}
		}
	}
}

// stemOf is the first letters of a word.
func stemOf(word string) string {
	n := 0
	for i := range word {
		if n == stemRunes {
			return word[:i]
		}
		n++
	}
	return word
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}
