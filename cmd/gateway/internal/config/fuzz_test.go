package config_test

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
)

// Whatever stands in the environment and on the command line, reading it ends with a
// configuration or with problems that name their setting.
func FuzzLoadEnvironment(f *testing.F) {
	f.Add("FOLDGATE_WINDOWS=*=1/2", "--lease=2s")
	f.Add("FOLDGATE_STORE_KEYS=a=b\nplain", "--window=a=b=c")
	f.Add("FOLDGATE_MEMORY=9999999999TiB", "--wait=-1s")
	f.Add("FOLDGATE_=", "--=")
	f.Add("=x", "-")
	f.Add("FOLDGATE_UPSTREAM=http://[::1%25]:x@", "--trigger=NaN")
	f.Fuzz(func(t *testing.T, variable, flag string) {
		if strings.Contains(strings.ToLower(flag), "help") || flag == "-h" || flag == "--h" {
			return // asks for something else
		}
		_, err := load(t, sources{args: []string{"--upstream", upstream, flag}, env: []string{variable}})
		if err != nil && len(config.Problems(err)) == 0 && !strings.Contains(err.Error(), "flag") && !strings.Contains(err.Error(), "argument") {
			t.Errorf("%q, %q: an error that is no problem: %v", variable, flag, err)
		}
	})
}
