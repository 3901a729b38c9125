// Package otlptest is a collector for tests: it listens on loopback, takes real
// OTLP over HTTP or gRPC, and hands out what came as a person would read it.
//
//	c := otlptest.HTTP(t)
//	… start a program with c.Environ() in its environment …
//	spans := c.Wait(t, func(spans otlptest.Spans) bool { return len(spans.Named("compression.attempt")) == 2 })
//
// # Promises
//
//   - Every signal that was sent is kept until the test ends: spans, metrics, and
//     the bytes of each message as they came (decompressed), to search.
//   - A collector ends with its test.
//   - Wait waits for what a test names, and fails the test after Patience.
package otlptest
