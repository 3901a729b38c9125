package semconv

import "go.opentelemetry.io/otel/attribute"

// The versions of the conventions that the names follow.
const (
	// Version is that of the general conventions.
	Version = "1.43.0"
	// SchemaURL names them.
	SchemaURL = "https://opentelemetry.io/schemas/" + Version
	// GenAIVersion is that of the conventions for generative AI.
	GenAIVersion = "0.1.0"
)

// The instrumentation scopes: the packages that make spans, and the program's
// metrics.
const (
	ScopeOwnership  = "github.com/foldgate/foldgate/ownership"
	ScopeMiddleware = "github.com/foldgate/foldgate/middleware"
	ScopeMetrics    = "github.com/foldgate/foldgate"
)

// ServiceName is service.name where nobody configured another.
const ServiceName = "foldgate"

// Resource attributes.
const (
	KeyServiceName       = attribute.Key("service.name")
	KeyServiceVersion    = attribute.Key("service.version")
	KeyServiceInstanceID = attribute.Key("service.instance.id")
)

// Span names. A server span is named by its method and, for a chat request, its
// route; a forwarded call by its method; a summary call by SummarySpan.
const (
	// SpanFold is measuring a chat request and deciding what to send.
	SpanFold = "compression.fold"
	// SpanAttempt is one attempt, from before its claim to its end.
	SpanAttempt = "compression.attempt"
	// SpanClaim is a claim that did not become an attempt: somebody else's stands,
	// or works, or the conversation rests.
	SpanClaim = "compression.claim"
	// OperationPrefix comes before an ownership operation's name in lower case:
	// one call of the store, its repeats included.
	OperationPrefix = "ownership."
	// MethodOther stands for a request method that the conventions do not know,
	// and SpanHTTP is then the span's name.
	MethodOther = "_OTHER"
	SpanHTTP    = "HTTP"
)

// Event names. All but EventRestore are an attempt's.
const (
	EventClaim         = "claim"          // the store answered the claim
	EventRenewRefused  = "renew.refused"  // a renewal was refused: superseded, lost, ended, cancelled
	EventDetach        = "detach"         // nobody waits for the worker any more
	EventSupersede     = "supersede"      // the next route's attempt took over
	EventCommit        = "commit"         // the checkpoint stands
	EventCommitRefused = "commit.refused" // it does not, and never will with this fence
	EventRestore       = "restore"        // the upstream refused what a checkpoint made, so it was taken back
)

// Attributes of our own. Numbers of tokens are counted, or corrected by what the
// upstream counted; they are never billed ones.
const (
	KeyConversation = attribute.Key("foldgate.conversation") // the key: a hash
	KeyAttemptID    = attribute.Key("foldgate.attempt.id")
	KeyGeneration   = attribute.Key("foldgate.generation") // 0: unfenced
	KeyRoute        = attribute.Key("foldgate.route")      // the configured name
	KeyOutcome      = attribute.Key("foldgate.outcome")
	KeyReason       = attribute.Key("foldgate.reason") // a class, never text
	KeyCovered      = attribute.Key("foldgate.covered")
	KeyJoined       = attribute.Key("foldgate.joined")
	KeyOperation    = attribute.Key("foldgate.operation")
	KeyAnswer       = attribute.Key("foldgate.answer")
	KeyRepeats      = attribute.Key("foldgate.repeats")
	KeyLate         = attribute.Key("foldgate.late") // true: by a worker nobody waits for

	KeyFoldKind     = attribute.Key("foldgate.fold.kind")
	KeyFoldReason   = attribute.Key("foldgate.fold.reason")
	KeyFoldRetried  = attribute.Key("foldgate.fold.retried")
	KeyFoldRecalled = attribute.Key("foldgate.fold.recalled")
	KeyFoldShrunk   = attribute.Key("foldgate.fold.shrunk")

	KeyTokensBefore  = attribute.Key("foldgate.tokens.before")
	KeyTokensAfter   = attribute.Key("foldgate.tokens.after")
	KeyTokensWindow  = attribute.Key("foldgate.tokens.window")
	KeyTokensSource  = attribute.Key("foldgate.tokens.source")
	KeyTokensHandoff = attribute.Key("foldgate.tokens.handoff")
	KeyWait          = attribute.Key("foldgate.wait") // seconds
)

// Attributes of the general conventions.
const (
	KeyErrorType              = attribute.Key("error.type")
	KeyHTTPRequestMethod      = attribute.Key("http.request.method")
	KeyHTTPRequestMethodOrig  = attribute.Key("http.request.method_original")
	KeyHTTPResponseStatusCode = attribute.Key("http.response.status_code")
	KeyHTTPRoute              = attribute.Key("http.route")
	KeyProtocolVersion        = attribute.Key("network.protocol.version")
	KeyServerAddress          = attribute.Key("server.address")
	KeyServerPort             = attribute.Key("server.port")
	KeyURLFull                = attribute.Key("url.full")
	KeyURLPath                = attribute.Key("url.path")
	KeyURLScheme              = attribute.Key("url.scheme")
)

// ErrorOther is error.type for what is on no list.
const ErrorOther = "_OTHER"

// Attributes of the conventions for generative AI.
const (
	KeyGenAIOperation     = attribute.Key("gen_ai.operation.name")
	KeyGenAIProvider      = attribute.Key("gen_ai.provider.name")
	KeyGenAIRequestModel  = attribute.Key("gen_ai.request.model")
	KeyGenAIRequestStream = attribute.Key("gen_ai.request.stream")
	KeyGenAIResponseModel = attribute.Key("gen_ai.response.model")
	KeyGenAIFinishReasons = attribute.Key("gen_ai.response.finish_reasons")
	KeyGenAIFirstChunk    = attribute.Key("gen_ai.response.time_to_first_chunk") // seconds
	KeyGenAIInputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	KeyGenAIOutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	KeyGenAITokenModality = attribute.Key("gen_ai.token.modality")

	// OperationChat is gen_ai.operation.name of a summary call.
	OperationChat = "chat"
	// ModalityText and ModalityUnknown are gen_ai.token.modality.
	ModalityText    = "text"
	ModalityUnknown = "unknown"
)

// Metric names.
const (
	MetricFolds         = "foldgate.folds"
	MetricRetries       = "foldgate.retries"
	MetricWait          = "foldgate.wait"
	MetricAdded         = "foldgate.added"
	MetricWindowShare   = "foldgate.window.share"
	MetricSaved         = "foldgate.tokens.saved"
	MetricSavable       = "foldgate.tokens.savable"
	MetricSummaryTokens = "foldgate.summary.tokens"
	MetricAttempts      = "foldgate.attempts"
	MetricRunning       = "foldgate.attempts.running"
	MetricDuration      = "foldgate.attempt.duration"
	MetricRefusals      = "foldgate.fence.refusals"
	MetricStoreErrors   = "foldgate.store.errors"
	MetricUnopened      = "foldgate.handoffs.unopened"
	MetricInFlight      = "foldgate.requests.in_flight"
	MetricBodies        = "foldgate.bodies.in_flight"
	MetricBreaker       = "foldgate.breaker.state"
	MetricPartDown      = "foldgate.part.down"
	MetricBuild         = "foldgate.build"
	MetricReloads       = "foldgate.config.reloads"
	MetricConfigLoaded  = "foldgate.config.loaded_at"

	MetricServerDuration = "http.server.request.duration"
	MetricClientDuration = "http.client.request.duration"

	MetricGenAIDuration     = "gen_ai.client.inference.duration"
	MetricGenAIFirstChunk   = "gen_ai.client.inference.time_to_first_chunk"
	MetricGenAIInputTokens  = "gen_ai.client.inference.usage.input_tokens"  //nolint:gosec // model tokens, no credential
	MetricGenAIOutputTokens = "gen_ai.client.inference.usage.output_tokens" //nolint:gosec // model tokens, no credential
)

// Labels of our own metrics: short, since Prometheus shows them as they are.
const (
	LabelKind      = attribute.Key("kind")
	LabelReason    = attribute.Key("reason")
	LabelOutcome   = attribute.Key("outcome")
	LabelOperation = attribute.Key("operation")
	LabelAnswer    = attribute.Key("answer")
	LabelDirection = attribute.Key("direction")
	LabelPart      = attribute.Key("part")
	LabelVersion   = attribute.Key("version")
)
