// Package telemetry is what the program tells about itself: log lines through
// log/slog, metrics and traces through OpenTelemetry.
//
// # Where it goes
//
// Metrics are always on /metrics, from a registry of their own. Beside that the
// standard OTEL_* variables of the process decide, for traces and for metrics each:
//
//	OTEL_SDK_DISABLED=true                  nothing is exported
//	OTEL_TRACES_EXPORTER                    otlp, console, none
//	OTEL_METRICS_EXPORTER                   the same; prometheus is /metrics, and
//	                                        opens no further port
//	OTEL_EXPORTER_OTLP_[TRACES_|METRICS_]…  ENDPOINT (alone it asks for otlp),
//	                                        PROTOCOL (http/protobuf, grpc), HEADERS,
//	                                        CERTIFICATE, TIMEOUT, COMPRESSION, …
//	OTEL_TRACES_SAMPLER[_ARG]               parentbased_always_on
//	OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
//	OTEL_BSP_…, OTEL_METRIC_EXPORT_…        batches and intervals
//
// Where none of them asks, nothing is exported, no span is made, and what is
// forwarded carries the caller's trace context byte for byte. The trace context is
// W3C's; OTEL_PROPAGATORS is not read. Logs are not exported: they go to stderr and
// name their span.
//
// # Promises
//
//   - No label takes a value from a request: no model of a caller, conversation,
//     attempt, tenant or path. Every label's values are a fixed list, what is not on
//     it counts as "other", or come from the configuration. Instruments says how
//     many series there can be at most.
//   - Nothing here blocks or fails a request. An instrument that cannot be made, or
//     an exporter that the environment names and that there is not, is an error of
//     New, before the program serves. A collector that is down costs what waits for
//     it, a bounded queue, and a log line a minute.
//   - No body, credential, query, header value or text of a conversation is ever
//     logged, counted or traced.
//   - Shutdown exports what is left, and takes a few seconds at most.
//
// All names are in internal/semconv.
package telemetry
