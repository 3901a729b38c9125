package config

import (
	"strings"
)

// Key describes one setting, as help texts and the configuration reference show it.
type Key struct {
	// Path is the YAML path, such as "compression.trigger". Empty: the setting
	// has no place in the file.
	Path string
	// Flag is the flag's name without dashes. Empty: there is no flag.
	Flag string
	// Value stands for the value in help texts, such as "DURATION".
	Value string
	// Usage is one line that says what it does.
	Usage string
	// Default is the value that holds where nobody sets one, as text; empty: none.
	Default string
	// Allowed says what is a right value, as the end of the sentence "want …".
	Allowed string
	// About says what Usage has no room for: what follows from it, and why.
	About string
	// Group is the part of the reference where it stands.
	Group Group
	// Restart is whether only a restart changes it. A reload that finds it changed
	// is refused.
	Restart bool
	// FileOnly is whether the setting has no environment variable either.
	FileOnly bool
	// Repeats is whether the setting is a list and its flag may be repeated.
	Repeats bool
}

// Group is a part of the configuration reference; its text is the heading.
type Group string

// The groups, in the order of the reference.
const (
	GroupEdge       Group = "Addresses and the upstream"
	GroupWindows    Group = "Mode and windows"
	GroupFolding    Group = "When and how much is folded"
	GroupSummarizer Group = "Who writes summaries"
	GroupStore      Group = "The store"
	GroupRequests   Group = "Requests"
	GroupTenants    Group = "Tenants"
	GroupProcess    Group = "The process"
)

// Name is how the setting is called where one name must do: its YAML path, or
// its flag.
func (k Key) Name() string {
	if k.Path != "" {
		return k.Path
	}
	return k.Flag
}

// Env is the environment variable of the setting; empty: it has none.
func (k Key) Env() string {
	if k.FileOnly {
		return ""
	}
	return envPrefix + strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToUpper(k.Name()))
}

// envPrefix begins every environment variable that is ours.
const envPrefix = "FOLDGATE_"

// Keys returns every setting, in the order of the configuration reference.
func Keys() []Key {
	settings := table()
	keys := make([]Key, len(settings))
	for i, s := range settings {
		keys[i] = s.Key
	}
	return keys
}

// setting is a Key with what can be done with its value.
type setting struct {
	Key
	access
	// boolean lets the flag stand without a value.
	boolean bool
}

// access is how a setting's value is put into a configuration and compared.
type access struct {
	// set gets all values that the strongest source gave: one, or more where the
	// key repeats.
	set func(c *Config, f *files, values []string) error
	// same compares two configurations. Nil: the setting is not itself part of
	// one, but leads to what is.
	same func(a, b *Config) bool
}

// files are the settings that lead to other files or to a shorter form of
// others; resolve turns them into what Config holds.
type files struct {
	adminToken, tenantSecret       string
	storeKeys, redisURL            string
	summarizerURL, summarizerModel string
	routes                         []Route
}

const (
	pathConfig           = "config"
	pathAdminToken       = "admin_token"
	pathAdminTokenFile   = "admin_token_file"
	pathTenantSecret     = "tenant_secret"
	pathTenantSecretFile = "tenant_secret_file"
	pathRedisURL         = "redis_url"
	pathRedisURLFile     = "redis_url_file"
	pathStoreKeys        = "store_keys"
	pathStoreKeysFile    = "store_keys_file"
	pathRoutes           = "summarizer.routes"
	pathWindows          = "windows"
	flagRouteURL         = "summarizer-url"
	flagRouteModel       = "summarizer-model"
)

// table is the one list of settings.
func table() []setting {
	var all []setting
	for _, part := range [...]struct {
		group    Group
		settings []setting
	}{
		{GroupEdge, edge()},
		{GroupWindows, windowing()},
		{GroupFolding, folding()},
		{GroupSummarizer, summarizing()},
		{GroupStore, storing()},
		{GroupRequests, requesting()},
		{GroupTenants, tenants()},
		{GroupProcess, process()},
	} {
		for _, s := range part.settings {
			s.Group = part.group
			all = append(all, s)
		}
	}
	return all
}

// settingNamed finds a setting by its Name.
func settingNamed(name string) (setting, bool) {
	for _, s := range table() {
		if s.Name() == name {
			return s, true
		}
	}
	return setting{}, false
}
