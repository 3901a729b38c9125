//go:build !race

package tokens_test

const raceEnabled = false
