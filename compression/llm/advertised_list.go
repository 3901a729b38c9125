package llm

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/foldgate/foldgate/compression/window"
)

// errEnough ends the reading of a list in which everything was found.
var errEnough = errors.New("llm: enough was read")

// errForm: it is JSON of another form.
var errForm = errors.New("llm: another form")

// found is what was found of the models that were asked for, and a few more.
type found struct {
	limits map[string]window.Limits
	// exact names those that were asked for and stood in the list under that very
	// name, with limits.
	exact map[string]bool
	asked []string
	// changing and unloaded are those of Advertisement.
	changing, unloaded bool
}

func newFound(asked []string) *found {
	return &found{limits: map[string]window.Limits{}, exact: map[string]bool{}, asked: asked}
}

// complete reports whether the limits of all that were asked for are known.
func (f *found) complete() bool {
	for _, name := range f.asked {
		if _, ok := f.limits[name]; !ok {
			return false
		}
	}
	return true
}

// add takes in the limits of a model with these names.
func (f *found) add(names []string, l window.Limits) {
	if l.Total == 0 && l.Input == 0 {
		return
	}
	for _, asked := range f.asked {
		for _, name := range names {
			same, exact := matches(asked, name)
			if !same || f.exact[asked] {
				continue
			}
			f.limits[asked], f.exact[asked] = l, exact
		}
	}
	for _, name := range names {
		if _, ok := f.limits[name]; !ok && len(f.limits) < maxAdvertised && len(name) <= window.MaxName {
			f.limits[name] = l
		}
	}
}

// every gives limits to all that were asked for: the server has one model, and
// takes any name for it.
func (f *found) every(l window.Limits) {
	if l.Total == 0 && l.Input == 0 {
		return
	}
	for _, asked := range f.asked {
		f.limits[asked] = l
	}
}

// enough reports whether reading on can bring nothing.
func (f *found) enough() bool {
	if len(f.limits) < maxAdvertised {
		return false
	}
	for _, asked := range f.asked {
		if !f.exact[asked] {
			return false
		}
	}
	return true
}

// matches reports whether a name in a list is the one that was asked for, and
// whether by the letter.
func matches(asked, name string) (same, exact bool) {
	if asked == "" || name == "" {
		return false, false
	}
	if asked == name {
		return true, true
	}
	plain := strings.TrimPrefix(name, "models/")                                                                     // Gemini
	if strings.EqualFold(strings.TrimPrefix(asked, "models/"), plain) || strings.EqualFold(asked+":latest", plain) { // Ollama
		return true, false
	}
	// OpenRouter: vendor/model:variant, where not every variant is listed.
	i := strings.LastIndexByte(asked, ':')
	return i > 0 && strings.Contains(asked[:i], "/") && strings.EqualFold(asked[:i], plain), false
}

// modelList reads a list of models while it comes. Of each model it keeps what
// matters, so memory does not grow with the list.
type modelList struct {
	found  *found
	owners map[string]bool
	more   bool // there are further pages
	listed bool // there was an array of models
	// router: the models have a state of their own, as llama.cpp's router shows it.
	router bool
	// loaded are the names of those asked for that are loaded, by what was asked.
	loaded map[string]string
	// known are those asked for that the list knows, with limits or not.
	known map[string]bool
}

func newModelList(f *found) *modelList {
	return &modelList{found: f, owners: map[string]bool{}, known: map[string]bool{}, loaded: map[string]string{}}
}

func newDecoder(r io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// read takes {"data":[…]}, {"models":[…]}, […] or one model alone.
func (l *modelList) read(r io.Reader) error {
	dec := newDecoder(r)
	err := l.document(dec)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (l *modelList) document(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '[':
		return l.models(dec)
	case '{':
		alone := &model{}
		err := alone.read(dec, 0, func(key string) error {
			if key == "data" || key == "models" {
				return l.models(dec)
			}
			return dec.SkipValue()
		})
		l.more = alone.more
		if err == nil {
			l.take(alone)
		}
		return err
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	return errForm
}

// models reads an array of models.
func (l *modelList) models(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '[' {
		return dec.SkipValue()
	}
	l.listed = true
	return elements(dec, '{', func() error {
		m := &model{}
		if err := m.read(dec, 0, nil); err != nil {
			return err
		}
		if l.take(m); l.found.enough() {
			return errEnough
		}
		return nil
	})
}

// elements reads an array; read gets the elements of a kind, the others are skipped.
func elements(dec *jsontext.Decoder, kind jsontext.Kind, read func() error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		next := dec.SkipValue
		if dec.PeekKind() == kind {
			next = read
		}
		if err := next(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// take takes in one model.
func (l *modelList) take(m *model) {
	if len(m.names) == 0 && m.display != "" {
		m.names = []string{m.display}
	}
	if len(m.names) == 0 {
		return
	}
	if m.owner != "" && len(l.owners) < maxAdvertised {
		l.owners[strings.ToLower(m.owner)] = true
	}
	if m.status != "" {
		l.router = true
	}
	if m.studio {
		l.found.changing = true
	}
	for _, asked := range l.found.asked {
		for _, name := range m.names {
			if same, exact := matches(asked, name); same {
				l.note(asked, name, exact, m)
			}
		}
	}
	l.found.add(m.names, m.limits())
	for _, one := range m.running {
		l.found.add(one.names, one.limits())
	}
}

// note remembers that a model that was asked for is in the list.
func (l *modelList) note(asked, name string, exact bool, m *model) {
	l.known[asked] = true
	if _, ok := l.loaded[asked]; m.status == "loaded" && (exact || !ok) {
		l.loaded[asked] = name
	}
	if m.status != "" && m.status != "loaded" || m.studio && m.limits() == (window.Limits{}) {
		l.found.unloaded = true
	}
}
