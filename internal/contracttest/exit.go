package contracttest

import (
	"flag"
	"fmt"
	"io"
	"os"
)

// MustLoad is Load for a variable of a test suite.
func MustLoad() *Description {
	d, err := Load()
	if err != nil {
		panic(err)
	}
	return d
}

// Exit ends a test program. A whole run that passed fails nevertheless where
// something that is documented of the plane was never seen: it is listed. A run
// of some tests only (-run, -skip, -list, -short) is not asked.
func (d *Description) Exit(p Plane, code int) {
	os.Exit(d.verdict(p, code, os.Stderr, isWhole(flag.CommandLine)))
}

// isWhole reports whether all tests of a program were run.
func isWhole(flags *flag.FlagSet) bool {
	for name, all := range map[string]string{"test.run": "", "test.skip": "", "test.list": "", "test.short": "false"} {
		if f := flags.Lookup(name); f != nil && f.Value.String() != all {
			return false
		}
	}
	return true
}

// verdict is the exit code of a run, and says why it is another one.
func (d *Description) verdict(p Plane, code int, to io.Writer, whole bool) int {
	if code != 0 || !whole {
		return code
	}
	missing := d.Unseen(p)
	if len(missing) == 0 {
		return code
	}
	fmt.Fprintln(to, "openapi.yaml describes what no test of this package saw:")
	for _, part := range missing {
		fmt.Fprintln(to, "\t"+part)
	}
	return 1
}
