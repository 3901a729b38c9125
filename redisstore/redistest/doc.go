// Package redistest starts real Redis servers for tests: on a free port of the
// loopback interface, in a temporary folder, stopped when the test ends. It is
// for tests only and may be used by tests outside this module.
//
// A machine without redis-server skips such tests, with the name of the package
// to install. Where the environment has CI or FOLDGATE_REQUIRE_REDIS set to
// anything but nothing, 0 or false, the test fails instead, so that a run which
// proved nothing never looks green.
//
// Server can be stopped, frozen and restarted; Proxy stands between a client
// and a server and loses replies on demand.
package redistest
