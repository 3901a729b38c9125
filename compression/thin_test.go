package compression_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// All tests of this package but two use one goroutine, where the race detector
// finds nothing and takes eight times as long. Under it they look at fewer sizes
// and draw less; without it ("make long") nothing is left out.
func TestMain(m *testing.M) {
	if raceEnabled {
		// A -rapid.checks of the command line is read later, and wins.
		if err := flag.Set("rapid.checks", "12"); err != nil {
			fmt.Fprintln(os.Stderr, "drawing less:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// either is whole, and thin under the race detector.
func either(whole, thin int) int {
	if raceEnabled {
		return thin
	}
	return whole
}
