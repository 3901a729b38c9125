package config

import (
	"errors"
	"strings"
)

// Problem is one thing that is wrong with the configuration.
type Problem struct {
	// Key is the YAML path of the setting, such as "compression.trigger".
	Key string
	// Source says where it was set: "flag --trigger", "FOLDGATE_…", "file:12".
	// Empty where nobody set it.
	Source string
	// Got is what was found, empty where nothing was; never a secret.
	Got string
	// Want says what would be right.
	Want string
}

// Error is "key (source): got "x", want y", without the parts that are empty.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Key)
	if p.Source != "" {
		b.WriteString(" (" + p.Source + ")")
	}
	b.WriteString(": ")
	if p.Got != "" {
		b.WriteString("got " + p.Got + ", ")
	}
	b.WriteString("want " + p.Want)
	return b.String()
}

// Problems lists the problems that were joined into err, in the order in which
// they were found. It is empty for nil and for an error of another kind.
func Problems(err error) []*Problem {
	var one *Problem
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Problem
		for _, e := range joined.Unwrap() {
			all = append(all, Problems(e)...)
		}
		return all
	}
	if errors.As(err, &one) {
		return []*Problem{one}
	}
	return nil
}
