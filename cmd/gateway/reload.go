package main

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry"
)

// # Reload
//
// SIGHUP has the configuration read again: the file, and every file that holds a
// secret, by the arguments and the environment of the start. What comes of it is an
// edition, made whole beside the one that serves; one pointer is swapped when it is
// ready, and only then. So:
//
//   - All or nothing. A file that cannot be read, a value that cannot be, a setting
//     that needs a restart (package config lists them): everything stays as it was,
//     and one line at error names all problems, never a value that is secret.
//   - A request goes by the configuration that it began with, and so does the
//     attempt that it began; the next request goes by the new one. The log level
//     alone is the process's, and changes at once.
//   - Nothing is forgotten: held checkpoints, what windows and corrections were
//     learned, counts, bytes in flight, the store, connections and metrics are
//     shared by all editions.
//   - Signals that come while one is being answered are answered once more, by one
//     reload. Once the gateway is to leave they are not answered any more.

// reloads is how a running gateway is asked to read its configuration again.
type reloads struct {
	input config.Input
	asked <-chan os.Signal
}

// follow answers signals until the returned function is called, which waits for
// the last answer.
func (g *gateway) follow(ctx context.Context, r reloads) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-r.asked:
				g.reload(ctx, r.input)
			}
		}
	}()
	return func() {
		cancel()
		select {
		case <-done:
		case <-time.After(handOver): // a file that does not answer must not keep the program
			g.logger.Warn("a reload is left behind")
		}
	}
}

// reload reads the configuration again and, when all of it is right, serves by it.
func (g *gateway) reload(ctx context.Context, in config.Input) {
	before := g.now()
	loaded, changed, err := before.config.Reload(in)
	var next *edition
	if err == nil && len(changed) > 0 {
		next, err = g.newEdition(loaded, before)
	}
	if err == nil {
		err = g.useStoreKeys(loaded.Config)
	}
	read := slog.Any("files", loaded.Files)
	switch {
	case err != nil:
		g.telemetry.Reloaded(telemetry.ReloadRefused)
		g.logger.LogAttrs(ctx, slog.LevelError, "configuration not reloaded", slog.Any("problems", problemsOf(err)), read)
	case next == nil:
		g.telemetry.Reloaded(telemetry.ReloadUnchanged)
		g.logger.LogAttrs(ctx, slog.LevelInfo, "configuration unchanged", read)
	default:
		g.edition.Store(next)
		g.telemetry.Reloaded(telemetry.ReloadChanged)
		g.level.Set(min(before.config.LogLevel, loaded.LogLevel)) // the line that tells of a higher level is told
		g.logger.LogAttrs(ctx, slog.LevelInfo, "configuration reloaded", slog.Any("changed", changed), read)
		g.warn(loaded, warningsOf(before.config))
		g.level.Set(loaded.LogLevel)
	}
}

// problemsOf lists what was wrong, each with its key and its place.
func problemsOf(err error) []string {
	var all []string
	for _, p := range config.Problems(err) {
		all = append(all, p.Error())
	}
	if len(all) == 0 {
		all = append(all, err.Error())
	}
	return all
}

// warn logs the warnings of a configuration, but for those that were said before.
func (g *gateway) warn(loaded config.Loaded, said []string) {
	for _, w := range warningsOf(loaded) {
		if !slices.Contains(said, w) {
			g.logger.Warn("configuration", "warning", w)
		}
	}
}

func warningsOf(loaded config.Loaded) []string {
	all := slices.Clone(loaded.Warnings)
	if loaded.RedisURL != "" && loaded.TenantSecret == "" {
		all = append(all, "the store is shared and tenant_secret is not set: whoever reads the store can test guesses of a credential")
	}
	return all
}
