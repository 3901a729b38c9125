package compression_test

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
)

// noteInText is the note that stands where a text was cut.
var noteInText = regexp.MustCompile(`\n\[\d+ of \d+ bytes left out[^\]]*\]\n`)

// toolText is what the tool message of a request says.
func toolText(t *testing.T, body []byte) string {
	t.Helper()
	r := parse(t, string(body))
	for i := range r.Messages {
		if r.Messages[i].Role.Result() {
			return r.Text(i)
		}
	}
	t.Fatal("no result")
	return ""
}

// cutNotes is a fold under a handoff that says text, in a window that leaves it less
// than that. messages stand behind a head of its own.
func cutNotes(t *testing.T, messages []string, more, text string) compression.Folded {
	t.Helper()
	messages = append([]string{said("system", "Be kind. "+words(1, 1500))}, messages...)
	body := strings.TrimSuffix(request(messages...), "}") + more + "}"
	v := view(t, body)
	b := budget(3400)
	covered, ok := v.Target(b, settings(), 0)
	if !ok {
		t.Fatal("nothing to fold")
	}
	b.Handoff = b.Usable
	h, err := v.Accept(compression.Answer{Text: text}, nil, covered, b)
	if err != nil {
		t.Fatal(err)
	}
	f := mustFold(t, v, h, b)
	if !f.Fits || f.Shrunk == 0 || !strings.Contains(string(f.Body), "bytes left out here to fit the window") {
		t.Errorf("the notes are not cut: %d of %d tokens, %d shrunk", f.Tokens, b.Usable, f.Shrunk)
	}
	judge(t, body, f, h, b)
	return f
}

// Where the head leaves less than its share for a handoff, the notes give way
// after all that the client sent, and the request still fits.
func TestGateCutsTheHandoffLast(t *testing.T) {
	f := cutNotes(t, garden(60, 30)[1:], "", "## Done\n"+words(2, 900))
	if !strings.Contains(string(f.Body), "End of the summary") {
		t.Errorf("the notes are not cut inside their frame: %.600s", f.Body)
	}
}

// A cut between words leaves no piece of a name that reads as another, unless one
// run is most of what may stay.
func TestShorteningDividesNoName(t *testing.T) {
	var names []string
	for i := range 400 {
		names = append(names, fmt.Sprintf("pod-%07d/unit_%d", i*7919, i))
	}
	for _, sep := range []string{" ", "\n", ", ", "\t"} {
		text := strings.Join(names, sep)
		body := request(said("user", "list"), called("{}", "a"), result("a", text), said("user", "go on"))
		v := view(t, body)
		whole := int(v.Total())
		for part := range 9 {
			total := max(600, whole*(part+1)/8)
			f, err := v.Unfolded(budget(total))
			allowed(t, err)
			kept := toolText(t, f.Body)
			if kept == text {
				continue
			}
			for _, word := range strings.Fields(strings.ReplaceAll(noteInText.ReplaceAllString(kept, " "), ",", " ")) {
				if !slices.Contains(names, word) {
					t.Fatalf("in %d tokens: %q is a piece of a name", total, word)
				}
			}
		}
	}
}

// A run that is data, such as base64, is in no passage: a piece of it would read
// as a name of its own. What stands around it is found.
func TestRecallQuotesNoPieceOfData(t *testing.T) {
	data := base64.StdEncoding.EncodeToString([]byte(words(5, 800)))
	for _, around := range []string{"%s", "the zebra report is %s end of the zebra report", "zebra\n%s\nreport zebra", `{"zebra":"%s","report":1}`} {
		text := "zebra report: " + words(9, 90) + " " + fmt.Sprintf(around, data) + " " + words(8, 90) + " zebra report."
		messages := append([]string{said("user", "look"), called("{}", "a"), result("a", text), said("assistant", "seen")}, garden(30, 40)[1:60]...)
		body := request(append(messages, said("user", "What did the zebra report say?"))...)
		v := view(t, body)
		b := budget(int(v.Total()) * 2 / 3)
		b.Recall = 1200
		h := v.Deterministic(b, settings(), nil)
		f := mustFold(t, v, h, b)
		if f.Recalled == 0 {
			t.Fatalf("%.20q: nothing is recalled", around)
		}
		judge(t, body, f, h, b)
		sent := string(f.Body)
		for at := 0; at+24 <= len(data); at += 12 {
			if strings.Contains(sent, data[at:at+24]) && !strings.Contains(sent, data) {
				t.Fatalf("%.20q: a piece of data is quoted", around)
			}
		}
	}
}

// The short frame stands where the long one would take much of the room, says the
// same, and is read like it.
func TestShortFrameInSmallRooms(t *testing.T) {
	for _, window := range []int{1500, 40_000} {
		v := view(t, request(garden(400, 40)...))
		h := v.Deterministic(budget(window), settings(), nil)
		if h.Covered == 0 {
			t.Fatal("nothing is covered")
		}
		body, ok := compression.Body(h.Text)
		around := strings.Replace(h.Text, body, "", 1)
		if !ok || !strings.HasPrefix(h.Text, "[Summary of the earlier conversation]\n") {
			t.Errorf("window %d: no frame: %.200s", window, h.Text)
		}
		for _, says := range []string{"or reference, not a request", "the newest user message wins", "[End of the summary"} {
			if !strings.Contains(around, says) {
				t.Errorf("window %d: the frame does not say %q: %s", window, says, around)
			}
		}
		if n := count(around); window == 1500 && n > 40 || n > 100 {
			t.Errorf("window %d: the frame takes %d tokens", window, n)
		}
		if own := compression.OwnText(h.Text + "\n\nand this?"); own != "and this?" {
			t.Errorf("window %d: own text %q", window, own)
		}
	}
}

// A plan that is sent anew with every step is told once, as it was last.
func TestNotesTellAPlanOnce(t *testing.T) {
	plan := func(done int) string {
		var items []string
		for i, what := range []string{"inspect the harbor lights", "replace the copper wiring", "measure the beacon voltage", "write the lantern report", "file the canyon permit"} {
			state := "pending"
			if i < done {
				state = "completed"
			}
			if i == 0 && done == 0 {
				what += " of Ottokar-77" // so that the first is worth the most by itself
			}
			items = append(items, fmt.Sprintf(`{"content":%q,"status":%q}`, what, state))
		}
		return `{"todos":[` + strings.Join(items, ",") + `]}`
	}
	messages := []string{said("user", "Mend the beacon.")}
	for i := range 5 {
		messages = append(messages, tool(i, "plan", plan(i), "ok")...)
		messages = append(messages, tool(100+i, "probe", fmt.Sprintf(`{"part":"cable-%d"}`, i), fmt.Sprintf("volts %d.%d at node-%d", 210+i, i, i*31))...)
	}
	body := notesOf(t, before(messages...))
	if n := strings.Count(body, "plan(todos="); n != 1 {
		t.Fatalf("told %d times:\n%s", n, body)
	}
	if got := lineOf(t, body, "plan(todos="); !strings.Contains(got, `"status":"completed"`) {
		t.Errorf("not as it was last: %s", got)
	}
}

// Arguments whose JSON is broken inside the first value are told as text.
func TestNotesTellBrokenArguments(t *testing.T) {
	body := notesOf(t, before(flat([]string{said("user", "Search.")}, tool(1, "run", `{"command":"grep 'alpha\|bravo' /srv/quarry.log"}`, "none"))...))
	if !strings.Contains(body, "/srv/quarry.log") {
		t.Errorf("what was called is not told:\n%s", body)
	}
}

// Where the handoff alone says "json", which a request for a json_object must hold,
// its notes keep the word however short they are cut.
func TestACutHandoffKeepsTheWordJSON(t *testing.T) {
	messages := garden(60, 30)[1:]
	messages[2] = said("user", "answer in json please "+words(4, 60))
	f := cutNotes(t, messages, `,"response_format":{"type":"json_object"}`, "## Done\n"+words(2, 450)+" as json "+words(3, 450))
	if !strings.Contains(string(f.Body[:strings.LastIndex(string(f.Body), `"response_format"`)]), "json") {
		t.Errorf("json is said nowhere: %.900s", f.Body)
	}
}
