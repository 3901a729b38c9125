// Package clients holds no code of its own: its tests drive real clients, once
// against a model server and once through the gateway, with the same assertions.
//
// "make test-clients" installs the clients at the versions of package-lock.json
// and go.mod into a temporary folder and runs the tests. Each client of the npm
// registry is a small program in scripts; its cases print one line of JSON each.
// The official SDK for Go runs in the test itself.
//
// What is asserted for every case:
//
//   - The client sees what its script says, direct and through the gateway.
//   - The model server gets the same request, byte for byte, where it fits: method,
//     path, query, header fields but the hop-by-hop ones, body.
//   - The answer's header differs by Foldgate's own fields alone.
//   - Where a client hangs up, the model server sees it and the gateway holds
//     nothing afterwards.
//
// The outcome is docs/clients/matrix.md, written by the run.
package clients
