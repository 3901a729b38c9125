//go:build race

package compression_test

const raceEnabled = true
