// Package foldgate holds the description of the HTTP interface, for programs
// that serve it. The gateway itself is cmd/gateway; package middleware is its
// core as a library.
package foldgate

import _ "embed" // for the description

// OpenAPI is openapi.yaml, in OpenAPI 3.1. It must not be changed.
//
//go:embed openapi.yaml
var OpenAPI []byte
