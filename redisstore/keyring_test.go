package redisstore_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/redisstore"
)

// secretOf is a key's 32 bytes, the same for the same name.
func secretOf(name string) []byte { return []byte(fmt.Sprintf("%-32s", name)[:32]) }

// entry is a key as it stands in a list.
func entry(id string) string { return id + "=" + base64.StdEncoding.EncodeToString(secretOf(id)) }

// keysOf makes keys from entries: ids, or the word plain.
func keysOf(t testing.TB, ids ...string) *redisstore.Keys {
	t.Helper()
	if len(ids) == 0 {
		return nil
	}
	list := make([]string, len(ids))
	for i, id := range ids {
		if list[i] = id; id != "plain" {
			list[i] = entry(id)
		}
	}
	keys, err := redisstore.ParseKeys(strings.Join(list, ","))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	hexKey := "h=" + hex.EncodeToString(secretOf("h"))
	urlKey := "u=" + base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("\xfb\xff", 16)))
	for _, list := range []string{
		entry("a"), "plain", "plain\n" + entry("a"), entry("a") + ",plain", entry("a") + " " + hexKey + "\r\n" + urlKey + "\n",
		"# made in June\n" + entry("2026-06") + " # the old one\n\n,\tplain,,\n", strings.TrimRight(entry("a"), "="), strings.ToUpper(hexKey),
		entry("A-b_c.9"), entry(strings.Repeat("i", 32)),
	} {
		if _, err := redisstore.ParseKeys(list); err != nil {
			t.Errorf("%q: %v", list, err)
		}
	}
	hush := base64.StdEncoding.EncodeToString(secretOf("hush"))
	for _, tc := range []struct{ list, want string }{
		{"", "none"},
		{" \n# nothing but this\n", "none"},
		{hush, "entry 1: no id"}, // cut at the padding, what is left is no key
		{"a=", "entry 1: the key: 32 bytes"},
		{"a=" + hush[:40], "entry 1: the key"},
		{"a=" + hush + "AAAA", "entry 1: the key"},
		{"a=" + strings.Repeat("x", 64), "entry 1: the key"},
		{"a=" + hush[:20] + "!" + hush[21:], "entry 1: the key"},
		{"=" + hush, "entry 1: the id"},
		{"plain=" + hush, "entry 1: the id"},
		{"a:b=" + hush, "entry 1: the id"},
		{"é=" + hush, "entry 1: the id"},
		{strings.Repeat("i", 33) + "=" + hush, "entry 1: the id"},
		{entry("a") + ",a=" + hush, "entry 2: the id stands before another key"},
		{"plain,plain", "entry 2: plain stands there twice"},
		{"PLAIN", "entry 1: no id"},
		{"x," + entry("a") + ",y=1", "entry 3: the key"},
	} {
		err := redisstore.CheckKeys(tc.list)
		if err == nil {
			t.Errorf("%q is taken", tc.list)
			continue
		}
		if tc.list != hush && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.list, err, tc.want)
		}
		if strings.Contains(err.Error(), hush[:10]) || strings.Contains(err.Error(), "xxxx") {
			t.Errorf("a key stands in: %v", err)
		}
	}
	if err := redisstore.CheckKeys("x,y=1"); err == nil || !strings.Contains(err.Error(), "entry 1") || !strings.Contains(err.Error(), "entry 2") {
		t.Errorf("not every problem is told: %v", err)
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add(entry("a") + ",plain")
	f.Add("#\n=\x00,a==")
	f.Add("h=" + hex.EncodeToString(secretOf("h")))
	f.Fuzz(func(t *testing.T, list string) {
		keys, err := redisstore.ParseKeys(list)
		if (err == nil) != (keys != nil) || (err == nil) != (redisstore.CheckKeys(list) == nil) {
			t.Errorf("%v, %v", keys, err)
		}
	})
}
