package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/foldgate/foldgate/ownership"
)

// Conversations remembers what this replica touched.
type Conversations interface {
	// Recent returns at most limit of the conversations that this replica touched
	// lately, the latest first.
	Recent(limit int) []Touched
}

// Touched is a conversation that this replica touched.
type Touched struct {
	Conversation  ownership.Key
	LastSeen      time.Time
	Kind          string // the token of Foldgate-Fold
	Before, After int    // corrected tokens; 0 where nothing was counted
	Covered       int    // messages that the forwarded handoff stood for; 0 if none
}

// Attempts remembers the attempts of this replica; ownership.Coordinator does.
type Attempts interface {
	Attempts(limit int) []ownership.Info
}

// Store is the part of ownership.Store that the plane needs.
type Store interface {
	Read(ctx context.Context, key ownership.Key, known []ownership.Fence) (ownership.View, error)
	Raise(ctx context.Context, key ownership.Key, f ownership.Fence, reason string) error
	RestoreOperator(ctx context.Context, key ownership.Key, saw ownership.Fence, by ownership.AttemptID) (ownership.Done, error)
	Forget(ctx context.Context, key ownership.Key) (ownership.Generation, error)
}

// Health says how the replica is. Its methods do not block.
type Health interface {
	// Draining reports whether the replica takes no new requests any more.
	Draining() bool
	// Parts names what the replica depends on, and how each is doing. A part that
	// is down does not make the replica unready: it still serves.
	Parts() map[string]string
}

// Folder folds a request without forwarding it.
type Folder interface {
	// Fold answers the report of a dry run, ready to be encoded as JSON. window is
	// empty, or TOTAL[/INPUT] in place of what is known of the model. A
	// *BadRequestError says what is wrong with the request.
	Fold(ctx context.Context, body []byte, window string) (any, error)
}

// BadRequestError is a request that cannot be folded, and why. Its text is shown
// to the caller.
type BadRequestError struct {
	// Param names the field at fault, or is empty.
	Param string
	Err   error
}

func (e *BadRequestError) Error() string { return e.Err.Error() }
func (e *BadRequestError) Unwrap() error { return e.Err }

// Config is what New needs. All ports are required.
type Config struct {
	Conversations Conversations
	Attempts      Attempts
	Store         Store
	Health        Health
	Folder        Folder
	// Dropped is told of a conversation that was restored or forgotten, so that this
	// replica asks the store again. Nil: nobody is.
	Dropped func(ownership.Key)
	// Metrics serves /metrics.
	Metrics http.Handler
	// Totals reads the metrics for the page. It does not block.
	Totals func() (Totals, error)
	// Record is what the replica remembers for the page beside its metrics.
	Record *Record
	// About says which replica this is; the zero value says nothing.
	About About
	// OpenAPI is the document that /openapi.yaml serves.
	OpenAPI []byte
	// Hosts are further names and addresses, without port, under which the plane
	// may be asked.
	Hosts []string
	// Token is the bearer. Empty: none is asked for, and what shows or changes
	// content is refused.
	Token string
	// BodyLimit bounds the body of a dry run, in bytes. 0: 64 MiB. Other bodies
	// are bounded to 64 KiB.
	BodyLimit int64
	// Logger gets the audit lines, see the package documentation. Nil: none.
	Logger *slog.Logger
}

const (
	defaultFoldLimit = 64 << 20
	changeLimit      = 64 << 10
)

// plane is the admin plane. It is safe for concurrent use.
type plane struct {
	Config
	guard guard
	seen  *seenFences
	files map[string]file
}

// New returns the admin plane.
func New(c Config) (http.Handler, error) {
	if c.Conversations == nil || c.Attempts == nil || c.Store == nil || c.Health == nil || c.Folder == nil || c.Metrics == nil ||
		c.Totals == nil || c.Record == nil {
		return nil, errors.New("admin: every port is required")
	}
	if c.BodyLimit <= 0 {
		c.BodyLimit = defaultFoldLimit
	}
	if c.Dropped == nil {
		c.Dropped = func(ownership.Key) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	p := &plane{Config: c, guard: newGuard(c.Hosts, c.Token), seen: new(seenFences), files: pageFiles()}
	return p.routes(), nil
}

func (p *plane) routes() http.Handler {
	g := p.guard
	named, held := []check{g.host}, []check{g.host, g.bearer}
	changing := func(more ...check) []check { return slices.Concat(held, []check{g.sameOrigin}, more) }

	r := chi.NewRouter()
	r.Use(quiet)
	r.NotFound(p.serve(unaudited, refusing(problemNoRoute), held...))
	r.MethodNotAllowed(p.serve(unaudited, p.wrongMethod(r), held...))
	get(r, "/livez", p.live)
	get(r, "/readyz", p.ready)
	get(r, "/", p.behind(p.page, named...))
	get(r, "/assets/{name}", p.behind(p.asset, named...))
	get(r, "/metrics", p.behind(p.Metrics.ServeHTTP, held...))
	get(r, "/openapi.yaml", p.behind(p.openAPI, held...))
	get(r, "/v1/replica", p.serve(unaudited, p.showReplica, held...))
	get(r, "/v1/tokens", p.serve(unaudited, p.listTokens, held...))
	get(r, "/v1/conversations", p.serve(unaudited, p.listConversations, held...))
	get(r, "/v1/conversations/{key}", p.serve(handoffRead, p.showConversation, held...))
	get(r, "/v1/attempts", p.serve(unaudited, p.listAttempts, held...))
	r.Post("/v1/conversations/{key}/cancel", p.serve(always("cancel"), p.cancel, changing(jsonBody)...))
	r.Post("/v1/conversations/{key}/restore", p.serve(always("restore"), p.restore, changing(g.privileged, jsonBody)...))
	r.Delete("/v1/conversations/{key}", p.serve(always("forget"), p.forget, changing(g.privileged)...))
	r.Post("/v1/fold", p.serve(unaudited, p.fold, changing(jsonBody)...))
	return r
}

// get serves HEAD too: the server leaves the body out.
func get(r chi.Router, pattern string, h http.HandlerFunc) {
	r.Get(pattern, h)
	r.Head(pattern, h)
}

// wrongMethod refuses a method, and says in Allow which ones the path takes.
func (p *plane) wrongMethod(routes chi.Routes) step {
	return func(w http.ResponseWriter, r *http.Request, _ *entry) (result, *problem) {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
			if routes.Match(chi.NewRouteContext(), method, r.URL.Path) {
				w.Header().Add("Allow", method)
			}
		}
		return result{}, &problemMethod
	}
}

func (p *plane) live(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]string{"status": "live"})
}

// ready fails only while draining. See Health.
func (p *plane) ready(w http.ResponseWriter, _ *http.Request) {
	status, now := http.StatusOK, p.readiness()
	if now.Status != statusReady {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, now)
}

const (
	statusReady    = "ready"
	statusDraining = "draining"
)

func (p *plane) readiness() readiness {
	now := readiness{Status: statusReady, Parts: p.Health.Parts()}
	if p.Health.Draining() {
		now.Status = statusDraining
	}
	return now
}

func (p *plane) openAPI(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, "application/yaml", p.OpenAPI)
}
