package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
)

func TestLearned(t *testing.T) {
	s, server := real(t)
	ctx, l, scope := t.Context(), s.Learned(), "tenant\x00https://upstream.example"
	if got, err := l.Load(ctx, scope); err != nil || len(got) != 0 {
		t.Fatalf("load of nothing: %v, %v", got, err)
	}
	value := []byte("binary \x00\xff and spaces")
	for range 2 {
		if err := l.Save(ctx, scope, "gpt x", value); err != nil {
			t.Fatalf("save: %v", err)
		}
	}
	got, err := l.Load(ctx, scope)
	if err != nil || len(got) != 1 || string(got["gpt x"]) != string(value) {
		t.Errorf("load: %q, %v", got, err)
	}
	if other, err := l.Load(ctx, "another"); err != nil || len(other) != 0 {
		t.Errorf("load of another scope: %q, %v", other, err)
	}
	keys := server.Client().Keys(ctx, "*").Val()
	if len(keys) != 1 || strings.Contains(keys[0], "tenant") || !strings.HasPrefix(keys[0], "foldgate:1:learned:{") {
		t.Errorf("keys %q", keys)
	}
	if ttl := server.Client().PTTL(ctx, keys[0]).Val(); ttl > 168*time.Hour || ttl < 167*time.Hour {
		t.Errorf("it lives %v", ttl)
	}
	for _, model := range []string{"", strings.Repeat("m", 5000)} {
		wantError(t, "save of a strange model", l.Save(ctx, scope, model, nil), ownership.ErrInvalid)
	}
	wantError(t, "save of a novel", l.Save(ctx, scope, "m", make([]byte, 5000)), ownership.ErrInvalid)
	server.Kill()
	_, err = l.Load(ctx, scope)
	wantError(t, "load", err, ownership.ErrUnavailable)
}

func TestLearnedDropsTheOldest(t *testing.T) {
	server := miniredis.RunT(t)
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	l := open(t, redisstore.Config{URL: "redis://" + server.Addr()}).Learned()
	save := func(n int) {
		t.Helper()
		now = now.Add(time.Second)
		server.SetTime(now)
		if err := l.Save(t.Context(), "s", fmt.Sprintf("model %d", n), []byte("v")); err != nil {
			t.Fatalf("save: %v", err)
		}
	}
	for n := range redisstore.MaxLearnedModels {
		save(n)
	}
	save(0) // now the newest
	save(redisstore.MaxLearnedModels)
	got, err := l.Load(t.Context(), "s")
	if err != nil || len(got) != redisstore.MaxLearnedModels {
		t.Fatalf("%d models, %v", len(got), err)
	}
	if _, ok := got["model 0"]; !ok {
		t.Error("a model just saved was dropped")
	}
	if _, ok := got["model 1"]; ok {
		t.Error("the oldest model was kept")
	}
}

// Every beginning is told, the first one and that behind a lost connection: what
// was saved before it is heard of by nobody.
func TestAnnouncementsTellWhenTheyBegin(t *testing.T) {
	s, server := real(t)
	announced := open(t, redisstore.Config{URL: server.URL}).Learned().Announcements(t.Context())
	next := func() string {
		t.Helper()
		select {
		case got := <-announced:
			return got
		case <-time.After(patience):
			t.Fatal("nothing is told")
			return ""
		}
	}
	for range 2 {
		if got := next(); got != "" {
			t.Fatalf("%q comes before the beginning", got)
		}
		if err := s.Learned().Save(t.Context(), "scope", "m", []byte("v")); err != nil {
			t.Fatal(err)
		}
		if got := next(); got != redisstore.ScopeHash("scope") {
			t.Fatalf("told %q behind the beginning", got)
		}
		if n, err := server.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Result(); err != nil || n == 0 {
			t.Fatalf("%d connections cut, %v", n, err)
		}
	}
}

func TestAnnouncements(t *testing.T) {
	s, server := real(t)
	ctx, cancel := context.WithCancel(t.Context())
	announced := open(t, redisstore.Config{URL: server.URL}).Learned().Announcements(ctx)
	eventually(t, "an announcement", func() bool {
		if err := s.Learned().Save(t.Context(), "scope", "m", []byte("v")); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-announced:
			return got == redisstore.ScopeHash("scope")
		default:
			return false
		}
	})
	cancel()
	for range announced {
	}
}
