// Chiservice is somebody's own service with Foldgate in it: a chi router with
// routes of its own, chat requests that are folded on their way to an upstream, a
// store in the process or in Redis, traces, metrics, settings that change while it
// runs, and an end in the right order. docs/library.md goes through it.
//
//	chiservice [-upstream http://127.0.0.1:8000] [-listen 127.0.0.1:8085]
//	           [-redis redis://127.0.0.1:6379] [-window-file FILE]
//
// The window is what stands in FILE, gpt-*=128000 for example; SIGHUP reads it
// again. TENANT_SECRET is the tenant secret. OTEL_* say where traces go. SIGTERM ends it.
package main
