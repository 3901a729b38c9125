package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
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
	wantSize     = "a size, such as 64MiB or 1GiB"
	wantTokens   = "a number of tokens that is not negative"
)

var errValue = errors.New("not a value of this kind")

// valueError names the one of several values that cannot be read, and why.
type valueError struct{ value, why string }

func (e *valueError) Error() string { return e.why }

type (
	setter        = func(*Config, *files, []string) error
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

func text(field func(*Config) *string) setter {
	return func(c *Config, _ *files, v []string) error {
		*field(c) = last(v)
		return nil
	}
}

func secret(field func(*Config) *Secret) setter {
	return func(c *Config, _ *files, v []string) error {
		*field(c) = Secret(last(v))
		return nil
	}
}

func file(field func(*files) *string) setter {
	return func(_ *Config, f *files, v []string) error {
		*field(f) = last(v)
		return nil
	}
}

func list(field func(*Config) *[]string) setter {
	return func(c *Config, _ *files, v []string) error {
		*field(c) = v
		return nil
	}
}

func share(field func(*Config) *float64) setter {
	return func(c *Config, _ *files, v []string) error {
		x, err := strconv.ParseFloat(last(v), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return errValue
		}
		*field(c) = x
		return nil
	}
}

func boolean(field func(*Config) *bool) setter {
	return func(c *Config, _ *files, v []string) error {
		x, err := strconv.ParseBool(last(v))
		if err != nil {
			return errValue
		}
		*field(c) = x
		return nil
	}
}

func number(field func(*Config) *int) setter {
	return func(c *Config, _ *files, v []string) error {
		x, err := strconv.Atoi(last(v))
		if err != nil {
			return errValue
		}
		*field(c) = x
		return nil
	}
}

func tokens(field func(*Config) tokensField) setter {
	return func(c *Config, _ *files, v []string) error {
		x, err := parseTokens(last(v))
		if err != nil {
			return err
		}
		*field(c) = x
		return nil
	}
}

func duration(field func(*Config) durationField) setter {
	return func(c *Config, _ *files, v []string) error {
		x, err := time.ParseDuration(last(v))
		if err != nil {
			return errValue
		}
		*field(c) = x
		return nil
	}
}

func size(field func(*Config) *int64) setter {
	return func(c *Config, _ *files, v []string) error {
		x, err := parseSize(last(v))
		if err != nil {
			return err
		}
		*field(c) = x
		return nil
	}
}

func mode(c *Config, _ *files, v []string) error {
	switch m := Mode(last(v)); m {
	case ModeFold, ModeObserve, ModeOff:
		c.Mode = m
		return nil
	}
	return errValue
}

func logLevel(c *Config, _ *files, v []string) error {
	switch strings.ToLower(last(v)) {
	case "debug":
		c.LogLevel = slog.LevelDebug
	case "info":
		c.LogLevel = slog.LevelInfo
	case "warn", "warning":
		c.LogLevel = slog.LevelWarn
	case "error":
		c.LogLevel = slog.LevelError
	default:
		return errValue
	}
	return nil
}

func logFormat(c *Config, _ *files, v []string) error {
	switch f := LogFormat(last(v)); f {
	case LogAuto, LogText, LogJSON:
		c.LogFormat = f
		return nil
	}
	return errValue
}

// windows reads all rules; the first that cannot be read refuses the list.
func windows(c *Config, _ *files, v []string) error {
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
}

// noRoutes: a list of routes has no form in one text; it comes from the file.
func noRoutes(*Config, *files, []string) error { return errValue }

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
