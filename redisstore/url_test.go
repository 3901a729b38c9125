package redisstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/redisstore"
)

func TestParseURL(t *testing.T) {
	tests := []struct {
		url, user, password, master string
		addrs                       []string
		db                          int
		secure, cluster             bool
		serverName                  string
		sentinelUser, sentinelPass  string
	}{
		{url: "redis://localhost", addrs: []string{"localhost:6379"}},
		{url: "REDIS://localhost:7000/", addrs: []string{"localhost:7000"}},
		{url: "redis://:s3cr%40t@h:1/3", addrs: []string{"h:1"}, password: "s3cr@t", db: 3},
		{url: "redis://me:p@ss@h:1", addrs: []string{"h:1"}, user: "me", password: "p@ss"},
		{url: "redis://[::1]:7000/2", addrs: []string{"[::1]:7000"}, db: 2},
		{url: "redis://[::1]", addrs: []string{"[::1]:6379"}},
		{url: "rediss://redis.example:6380", addrs: []string{"redis.example:6380"}, secure: true, serverName: "redis.example"},
		{url: "redis+cluster://a:1,b:2,[::1]:3", addrs: []string{"a:1", "b:2", "[::1]:3"}, cluster: true},
		{url: "redis+cluster://a:1/", addrs: []string{"a:1"}, cluster: true},
		{url: "rediss+cluster://u:p@a:1", addrs: []string{"a:1"}, user: "u", password: "p", cluster: true, secure: true},
		{url: "redis+sentinel://a,b:1/mymaster", addrs: []string{"a:26379", "b:1"}, master: "mymaster"},
		{url: "redis+sentinel://u:p@a:1,b:2/my%20master/4", addrs: []string{"a:1", "b:2"}, master: "my master", user: "u", password: "p", db: 4},
		{url: "rediss+sentinel://a:1/m?sentinel_username=s&sentinel_password=%2Fx", addrs: []string{"a:1"}, master: "m", secure: true, sentinelUser: "s", sentinelPass: "/x"},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			got, err := redisstore.ParseURL(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Addrs, tt.addrs) || got.DB != tt.db || got.MasterName != tt.master || got.IsClusterMode != tt.cluster {
				t.Errorf("addrs %v, db %d, master %q, cluster %t", got.Addrs, got.DB, got.MasterName, got.IsClusterMode)
			}
			if got.Username != tt.user || got.Password != tt.password || got.SentinelUsername != tt.sentinelUser || got.SentinelPassword != tt.sentinelPass {
				t.Errorf("user %q, password %q, sentinel %q, %q", got.Username, got.Password, got.SentinelUsername, got.SentinelPassword)
			}
			if (got.TLSConfig != nil) != tt.secure || tt.secure && got.TLSConfig.ServerName != tt.serverName {
				t.Errorf("tls %+v", got.TLSConfig)
			}
		})
	}
}

func TestCheckURL(t *testing.T) {
	tests := []struct {
		url  string
		want []string
	}{
		{"", []string{"no scheme"}},
		{"localhost:6379", []string{"no scheme"}},
		{"http://h", []string{`scheme "http"`}},
		{"redis+http://h:1", []string{`scheme "redis+http"`}},
		{"redis+://h:1", []string{`scheme "redis+"`}},
		{"redis://", []string{"no host"}},
		{"redis://h: 1", []string{"white space"}},
		{"redis://h#x", []string{"fragment"}},
		{"redis://h:", []string{"no port after the colon"}},
		{"redis://:1", []string{"no name before the port"}},
		{"redis://h:0", []string{`port "0"`}},
		{"redis://h:70000", []string{`port "70000"`}},
		{"redis://::1", []string{"in brackets"}},
		{"redis://[x]:1", []string{"brackets"}},
		{"redis://[::1]1", []string{"only a port"}},
		{"redis://a:1,b:2", []string{"several hosts"}},
		{"redis://h/x", []string{`database "x"`}},
		{"redis://h/-1", []string{`database "-1"`}},
		{"redis://h/1/2", []string{`database "1/2"`}},
		{"redis://h?db=1", []string{`parameter "db"`}},
		{"redis://me@h", []string{"user without a password"}},
		{"redis://me:hush%zz@h", []string{"password: not percent-encoded"}},
		{"redis://me:hu/sh@h", []string{"%2F"}},
		{"redis://me:hush?hush@h", []string{"%3F"}},
		{"redis+cluster://h", []string{"no port"}},
		{"redis+cluster://a:1,,b:2", []string{"empty host"}},
		{"redis+cluster://a:1/2", []string{"only one"}},
		{"redis+sentinel://a:1", []string{"no master"}},
		{"redis+sentinel://a:1//2", []string{"no master"}},
		{"redis+sentinel://a:1/m/x", []string{`database "x"`}},
		{"redis://me:hush@h:0/x?y=z", []string{`port "0"`, `database "x"`, `parameter "y"`}},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			err := redisstore.CheckURL(tt.url)
			if err == nil {
				t.Fatal("taken")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("the password stands in: %v", err)
			}
		})
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"redis://u:p@[::1]:6379/0", "rediss+cluster://a:1,b:2", "redis+sentinel://u:p@a:1,b/m/3?sentinel_password=x", "redis://@@:/?#",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := redisstore.ParseURL(s)
		if (err == nil) != (redisstore.CheckURL(s) == nil) {
			t.Error("ParseURL and CheckURL differ")
		}
		if err == nil && len(o.Addrs) == 0 {
			t.Error("no address")
		}
	})
}

func TestOpenNamesEveryProblem(t *testing.T) {
	_, err := redisstore.Open(t.Context(), redisstore.Config{URL: "http://h/x", Retention: -1, DialTimeout: -1, Timeout: -1})
	if err == nil {
		t.Fatal("opened")
	}
	for _, want := range []string{"scheme", "retention", "dial timeout", "timeout"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}
