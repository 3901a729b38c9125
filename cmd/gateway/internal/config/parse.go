package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldgate/foldgate/compression/window"
)

// The parsers below only say whether a text can be read at all. Whether the
// value is a sensible one is Validate's to say. Their errors carry no text: the
// caller knows the key, the value and what would be right.

const (
	wantDuration = "a duration that is not negative, such as 30s or 10m"
	wantTokens   = "a number of tokens that is not negative"
	wantBool     = "true or false"
	wantAddress  = "host:port, such as 127.0.0.1:8080"
)

// wantWindow is what a default window may be.
func wantWindow() string {
	return fmt.Sprintf("0, or from %d to %d tokens", window.MinTotal, window.MaxTotal)
}

var errValue = errors.New("not a value of this kind")

// valueError names the one of several values that cannot be read, and why.
type valueError struct{ value, why string }

func (e *valueError) Error() string { return e.why }

type (
	durationField = *time.Duration
	tokensField   = *window.Tokens
)

// last is the value that counts of a setting that does not repeat.
func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// field reads the one value of a setting by parse.
func field[T comparable](of func(*Config) *T, parse func(string) (T, error)) access {
	return access{
		set: func(c *Config, _ *files, v []string) error {
			x, err := parse(last(v))
			if err != nil {
				return err
			}
			*of(c) = x
			return nil
		},
		same: func(a, b *Config) bool { return *of(a) == *of(b) },
	}
}

// word reads a value that is one of a few words.
func word[T comparable](of func(*Config) *T, words map[string]T) access {
	return field(of, func(s string) (T, error) {
		x, known := words[s]
		if !known {
			return x, errValue
		}
		return x, nil
	})
}

func text(of func(*Config) *string) access {
	return field(of, func(s string) (string, error) { return s, nil })
}

func secret(of func(*Config) *Secret) access {
	return field(of, func(s string) (Secret, error) { return Secret(s), nil })
}

func file(of func(*files) *string) access {
	return access{set: func(_ *Config, f *files, v []string) error {
		*of(f) = last(v)
		return nil
	}}
}

func list(of func(*Config) *[]string) access {
	return access{
		set: func(c *Config, _ *files, v []string) error {
			*of(c) = v
			return nil
		},
		same: func(a, b *Config) bool { return slices.Equal(*of(a), *of(b)) },
	}
}

func share(of func(*Config) *float64) access {
	return field(of, func(s string) (float64, error) {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return 0, errValue
		}
		return x, nil
	})
}

func boolean(of func(*Config) *bool) access { return field(of, strconv.ParseBool) }

func number(of func(*Config) *int) access { return field(of, strconv.Atoi) }

func tokens(of func(*Config) tokensField) access { return field(of, parseTokens) }

func duration(of func(*Config) durationField) access { return field(of, time.ParseDuration) }

func size(of func(*Config) *int64) access { return field(of, parseSize) }

func mode() access {
	return word(func(c *Config) *Mode { return &c.Mode },
		map[string]Mode{"fold": ModeFold, "observe": ModeObserve, "off": ModeOff})
}

func logLevel() access {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "warning": slog.LevelWarn, "error": slog.LevelError,
	}
	return field(func(c *Config) *slog.Level { return &c.LogLevel }, func(s string) (slog.Level, error) {
		x, known := levels[strings.ToLower(s)]
		if !known {
			return x, errValue
		}
		return x, nil
	})
}

func logFormat() access {
	return word(func(c *Config) *LogFormat { return &c.LogFormat },
		map[string]LogFormat{"auto": LogAuto, "text": LogText, "json": LogJSON})
}

// windows reads all rules; the first that cannot be read refuses the list.
func windows() access {
	return access{
		set: func(c *Config, _ *files, v []string) error {
			rules := make([]window.Rule, 0, len(v))
			for _, s := range v {
				r, err := window.ParseRule(s)
				if err != nil {
					return &valueError{value: s, why: strings.TrimPrefix(err.Error(), fmt.Sprintf("window %q: ", s))}
				}
				rules = append(rules, r)
			}
			c.Windows = rules
			return nil
		},
		same: func(a, b *Config) bool { return slices.Equal(a.Windows, b.Windows) },
	}
}

// routes have no form in one text: a list of them comes from the file.
func routes() access {
	return access{
		set:  func(*Config, *files, []string) error { return errValue },
		same: func(a, b *Config) bool { return slices.Equal(a.Summarizer.Routes, b.Summarizer.Routes) },
	}
}

func parseTokens(s string) (window.Tokens, error) {
	x, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, errValue
	}
	return window.Tokens(x), nil
}

// parseSize reads a size. A number without a unit is bytes.
func parseSize(s string) (int64, error) {
	units := []struct {
		suffix string
		factor int64
	}{
		{"KiB", 1 << 10},
		{"MiB", 1 << 20},
		{"GiB", 1 << 30},
		{"TiB", 1 << 40},
		{"KB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"TB", 1e12},
		{"B", 1},
	}
	factor := int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			s, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	x, err := strconv.ParseInt(s, 10, 64)
	if err != nil || x < 0 || x > math.MaxInt64/factor {
		return 0, errValue
	}
	return x * factor, nil
}
