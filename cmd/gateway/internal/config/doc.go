// Package config reads the program's configuration: flags over FOLDGATE_*
// environment variables over a YAML file over defaults.
//
// One table (Keys) names every setting once: its YAML path, its flag, its
// environment variable, its text. The three sources are read into text by path
// first and go through the same parsers after that, so a value means the same
// wherever it stands.
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
//   - No secret is ever part of a message: neither a token, nor what stands
//     before the @ of a URL or behind its question mark.
package config
