// Command benchpeers is behind "make bench-peers". It builds the gateway and what
// it is measured beside (a bare httputil.ReverseProxy, nginx, Caddy, other LLM
// gateways), runs all of it on loopback, and writes the tables of
// docs/performance.md.
//
// What is compared is compared in one run: windows of load alternate between the
// two sides, each pair of windows gives one ratio, and what is reported of the
// ratios is their median and quartiles. A target is reached when it lies at or
// below the upper quartile, and missed only when the whole box lies below it. A
// window with one wrong answer makes its comparison invalid: answers are read to
// their end and held against what was sent.
//
// Upstream, load client and bare proxy are this program's own. The upstream and
// the bare proxy are processes of their own (the same program, started anew), so
// that the processor time of a proxy can be told from that of its load. On Linux
// all of it runs in a network namespace that has nothing but loopback, so that no
// program under test can call out; without the right to make one the tables say
// so.
//
// Nothing of other projects is kept here: they are built or installed into a
// folder of their own (-tools), by name and version, and one that cannot be had is
// named in the tables with the reason.
package main
