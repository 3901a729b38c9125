// Package llm asks a chat-completions endpoint for a summary, and an upstream for
// what its models accept. It is the only part of compression that speaks HTTP.
//
// # The call
//
// The body is the model, stream: true and one user message, and nothing else:
// no output cap, no temperature, no store. Redirects are not followed, since
// the credential must not go elsewhere. Nothing is retried here, and there is no
// time limit here either: the caller's context is the limit, and its cause is
// what Summarize answers when it ends. Progress is reported for every piece of
// visible or reasoning text that is not empty, so that the caller can tell a
// model that thinks from one that is silent. Keep-alives, role frames and empty
// deltas are not progress.
//
// # The answer
//
// A stream is read as it comes; a server that ignores stream and answers one
// JSON object is read too, whatever content type it names. The visible text
// wins. Where there is none, the reasoning stands in for it, at most its first
// 8000 characters: some models put the whole answer there. Whether an answer is
// good enough for a handoff (its length, its finish reason) is not decided here.
//
// # What models accept
//
// Advertised reads an upstream's list of models, in the forms that providers give
// it, and where that shows a server that says it elsewhere (llama.cpp, Ollama, LM
// Studio, text-generation-inference, SGLang), or the host is nearby, what that one
// says of the models it has loaded. Only limits that hold now are taken, never the
// size that a model was trained with, and only plausible ones. Nothing that is
// asked loads a model; redirects are not followed and no other origin is asked, so
// the credential stays where the caller sends it. A list is read as it comes, at
// most 16 MiB of it, and of each entry only what matters is kept.
//
// # What may fail how
//
//   - *StatusError: the server answered no 2xx, or an error object inside one.
//   - ErrCut: the answer ended without a finish reason and without [DONE].
//   - ErrEmpty: it ended properly and said nothing.
//   - ErrTooLong: it was longer than the caller accepts.
//   - ErrMalformed: it is no chat completion, or no list of models.
//   - the cause of the context, wrapped, if that ended first.
//   - any other error comes from the connection.
//
// No error holds text of the upstream, a header or a query string. Memory per
// call is bounded by Call.MaxAnswer, the size of one event and the prompt.
package llm
