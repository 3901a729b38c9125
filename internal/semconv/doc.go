// Package semconv holds the names of everything that Foldgate emits: attribute
// keys, span and event names, metric names and the values that are fixed.
//
// # Versions
//
// What begins with http, url, server, network, user_agent, error or service
// follows the OpenTelemetry semantic conventions at Version. What begins with
// gen_ai follows the conventions for generative AI, which moved to a repository of
// their own, at GenAIVersion; all of those are still marked as in development, so
// a later version may rename them: this is the one file to change. What begins
// with foldgate, compression or ownership is ours.
//
// Left out on purpose, although the conventions name them:
//
//   - gen_ai.input.messages, gen_ai.output.messages and every other content.
//   - gen_ai.conversation.id: the conventions want the application's own id and
//     no hash of content. Ours is foldgate.conversation.
//   - url.query, the query of url.full, client.address and header values: keys and
//     people's addresses travel there.
//   - gen_ai.request.model as a metric's label where the caller chose the model.
//
// # Promises
//
// The package imports the attribute package only and holds no state. Nothing of a
// request gets into a name.
package semconv
