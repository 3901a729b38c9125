package llm

import (
	"context"
	"io"
	"net/url"
	"slices"

	"github.com/foldgate/foldgate/compression/window"
)

// server is a kind of server that says elsewhere what its models accept.
type server struct {
	// owners are what its list of models names as owned_by.
	owners []string
	// ask asks it, and reports whether it was that kind of server.
	ask func(a *asking, ctx context.Context) bool
}

// servers are the kinds, in the order in which a server that does not show which
// it is is asked: those first whose answer nobody else gives.
func servers() []server {
	return []server{
		{[]string{"organization_owner", "organization-owner", "lmstudio"}, (*asking).lmStudio},
		{[]string{"library", "ollama"}, (*asking).ollama},
		{[]string{"llamacpp", "llama.cpp"}, (*asking).llamaCPP},
		{[]string{"huggingface", "tgi"}, (*asking).tgi},
		{[]string{"sglang"}, (*asking).sglang},
	}
}

// others asks for what the list did not say: a server that the list shows, or one
// nearby of whatever kind. What goes wrong there is no matter: the list's own
// answer stands.
func (a *asking) others(ctx context.Context) {
	if a.models.more {
		a.alone(ctx)
		return
	}
	shown, others := []server(nil), []server(nil)
	for _, s := range servers() {
		if slices.ContainsFunc(s.owners, func(o string) bool { return a.models.owners[o] }) {
			shown = append(shown, s)
		} else if Nearby(a.call.Base) {
			others = append(others, s)
		}
	}
	if len(shown) == 0 {
		shown = others
	}
	for _, s := range shown {
		if s.ask(a, ctx) || ctx.Err() != nil {
			a.answered = a.answered || ctx.Err() == nil
			return
		}
	}
}

// alone asks for single models where the list has further pages.
func (a *asking) alone(ctx context.Context) {
	const most = 4
	asked := 0
	for _, name := range a.call.Models {
		if _, ok := a.found.limits[name]; ok || asked == most {
			continue
		}
		asked++
		l := newModelList(a.found)
		_ = a.get(ctx, a.beside("/models/"+url.PathEscape(name)), l.read) // not known there: no limits
	}
}

// lmStudio reads which models are loaded, and with what window.
func (a *asking) lmStudio(ctx context.Context) bool {
	for _, path := range [...]string{"/api/v1/models", "/api/v0/models"} {
		l := newModelList(newFound(a.call.Models))
		if a.get(ctx, a.root(path, ""), l.read) == nil && l.found.changing {
			a.merge(l.found)
			return true
		}
	}
	return false
}

// ollama reads which models are loaded, and with what window. What they could
// have (/api/show) is another number. It loads what it is asked for, so what is
// not there now will be.
func (a *asking) ollama(ctx context.Context) bool {
	l := newModelList(newFound(a.call.Models))
	if a.get(ctx, a.root("/api/ps", ""), l.read) != nil || !l.listed {
		return false
	}
	l.found.changing, l.found.unloaded = true, !l.found.complete()
	a.merge(l.found)
	return true
}

// llamaCPP reads the window of one slot. A router is asked only for models that
// are loaded, since the question would load others.
func (a *asking) llamaCPP(ctx context.Context) bool {
	if !a.models.router {
		ok := a.only(ctx, "/props")
		a.found.changing = a.found.changing || ok
		return ok
	}
	a.found.changing = true
	for _, asked := range a.call.Models {
		name, ok := a.models.loaded[asked]
		if !ok {
			a.found.unloaded = a.found.unloaded || a.models.known[asked]
			continue
		}
		if limits, ok := a.single(ctx, "/props", "model="+url.QueryEscape(name)+"&autoload=false"); ok {
			a.found.add([]string{asked}, limits)
		}
	}
	return true
}

// tgi reads the limits of text-generation-inference, which has one model.
func (a *asking) tgi(ctx context.Context) bool { return a.only(ctx, "/info") }

// sglang reads the limits of a server that does not put them into its list.
func (a *asking) sglang(ctx context.Context) bool { return a.only(ctx, "/get_model_info") }

// only asks for the limits of the one model that a server has.
func (a *asking) only(ctx context.Context, path string) bool {
	limits, ok := a.single(ctx, path, "")
	a.found.every(limits)
	return ok
}

// single asks for the limits of one model.
func (a *asking) single(ctx context.Context, path, query string) (window.Limits, bool) {
	m := &model{}
	if a.get(ctx, a.root(path, query), m.whole) != nil {
		return window.Limits{}, false
	}
	limits := m.limits()
	return limits, limits != window.Limits{}
}

// whole reads an answer that is about one model.
func (m *model) whole(r io.Reader) error {
	dec := newDecoder(r)
	if dec.PeekKind() != '{' {
		return errForm
	}
	return m.read(dec, 0, nil)
}

// merge takes in what a server's own API said: it knows better than the list.
func (a *asking) merge(f *found) {
	for name, l := range f.limits {
		a.found.limits[name] = l
	}
	a.found.changing = a.found.changing || f.changing
	a.found.unloaded = a.found.unloaded || f.unloaded
}
