package config

import "log/slog"

// Secret is a text that is never printed. Its zero value is "none". Convert it
// with string(s) where the real value is needed, and nowhere else.
type Secret string

const hidden = "(hidden)"

// String hides the value, and tells only whether there is one.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the value from %#v too.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the value from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
