// Package telemetry is what the program tells about itself: log lines through
// log/slog and metrics through the OpenTelemetry API, exported for Prometheus
// from a registry of their own.
//
// # Promises
//
//   - No label takes a value from a request: no model, conversation, tenant or
//     path. Every label's values are a fixed list, and what is not on it counts
//     as "other". The comment at each instrument says how many series there can
//     be at most.
//   - Nothing here blocks or fails a request. An instrument that cannot be made
//     is an error of New, before the program serves.
//   - No body, credential or text of a conversation is ever logged.
//
// Traces are not made yet. Their seams are the two observers (of a chat request
// and of an attempt) and the trace context in the owner record.
package telemetry
