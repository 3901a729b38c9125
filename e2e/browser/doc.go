// Package browser tests the admin plane's page as an operator meets it: in a real
// browser, in front of real gateways, a real Redis and a stand-in for a model, all
// on loopback.
//
// Every page that is opened here is watched: an error in its console, a breach of
// its content security policy, an exception, or a request to another origin fails
// the test, whatever else the test is about.
//
// It is a module of its own, so that what drives a browser is no dependency of the
// gateway. It needs Chromium (Debian: apt-get install chromium) and redis-server.
// Without Chromium the tests are skipped, by name; where the environment has CI or
// FOLDGATE_REQUIRE_BROWSER set to anything but nothing, 0 or false, they fail.
//
//	make test-browser                                  the tests
//	go test -run Screenshots -screenshots              docs/screenshots, made anew
//	go test -bin /path                                 other programs than those of this tree
package browser
