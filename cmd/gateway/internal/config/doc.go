// Package config reads the program's configuration: flags over FOLDGATE_*
// environment variables over a YAML file over defaults.
//
// One table (Keys) names every setting once: its YAML path, its flag, its
// environment variable, what is allowed, its text, and whether a reload changes it.
// The three sources are read into text by path first and go through the same
// parsers after that, so a value means the same wherever it stands. Help texts and
// docs/configuration.md are written from the same table (package gen).
//
// # Reload
//
// A running program reads its configuration again on SIGHUP (Loaded.Reload): the
// file, and every file that holds a secret. Arguments and environment stay those of
// the start, and so does whatever they say. It is all or nothing: one problem
// anywhere, and the running configuration stays as it is, whole.
//
// Most settings change so. These need a restart, and a reload that finds one of
// them changed is refused, naming it: addresses (their sockets are open), the
// upstream (credentials go there), the store and how long it keeps, lease, idle,
// ceiling and the number of attempts (the coordinator's, and part of the promises
// that running attempts gave to other replicas), and the form of the log. What a
// reload does to requests that are running is told in cmd/gateway/reload.go.
//
// # Promises
//
//   - All problems are reported at once, each as a *Problem that names the key,
//     where it was set, what was found and what would be right.
//   - An unknown YAML key is a problem, with its line. An unknown FOLDGATE_*
//     variable is a warning, since an environment is shared with others.
//   - A list that a stronger source gives replaces the weaker source's list
//     whole; a flag that is repeated adds to what the flags before it said.
//   - An empty environment variable counts as not set.
//   - A problem in the file names its line, also inside a route.
//   - No secret is ever part of a message: neither a token, nor what stands
//     before the @ of a URL or behind its question mark.
package config
