// Command gen writes the configuration reference, docs/configuration.md, from the
// one table of settings and the example file. "make docs" runs it; its test fails
// where the page is not what it would write.
package main
