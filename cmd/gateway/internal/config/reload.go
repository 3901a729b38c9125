package config

import "errors"

// Reload loads the configuration of a running program again, from the same
// arguments and environment and from the files as they are now, and compares it
// with the running one. changed names the settings that differ, in the order of
// the reference; a secret that came from a file counts as the setting that it is a
// value of.
//
// It is all or nothing: where anything is wrong, err joins all problems (see
// Problems), and the caller goes on with what it has. A setting that only a restart
// changes is such a problem.
func (running Loaded) Reload(in Input) (now Loaded, changed []string, err error) {
	now, err = Load(in)
	if err != nil && len(Problems(err)) == 0 {
		return now, nil, err // the command line, which cannot have changed
	}
	broken := map[string]bool{}
	for _, p := range Problems(err) {
		broken[p.Key] = true
	}
	if broken[pathConfig] {
		return now, nil, err // nothing is known of what the file would have said
	}
	problems := []error{err}
	for _, s := range table() {
		switch {
		case s.same == nil || broken[s.Name()] || s.same(&running.Config, &now.Config):
		case s.Restart:
			problems = append(problems, &Problem{
				Key: s.Name(), Source: now.sources.of(s.Name()), Got: "another value than the running one", Want: "a restart: a reload cannot change it",
			})
		default:
			changed = append(changed, s.Name())
		}
	}
	if err = errors.Join(problems...); err != nil {
		return now, nil, err
	}
	return now, changed, nil
}
