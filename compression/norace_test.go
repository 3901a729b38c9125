//go:build !race

package compression_test

// raceEnabled is whether the race detector watches: some tests then do less.
const raceEnabled = false
