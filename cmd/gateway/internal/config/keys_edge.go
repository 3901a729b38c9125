package config

// edge are the settings that say where the program stands.
func edge() []setting {
	return []setting{
		{
			Key: Key{
				Flag: pathConfig, Value: "FILE", Usage: "YAML file to read", Allowed: "a file that can be read", Restart: true,
				About: "Without it flags and environment are all there is. A reload reads the file of this name again; write a new one beside it and rename it over the old one, so that half a file is never read.",
			},
			access: access{set: func(*Config, *files, []string) error { return nil }},
		},
		{
			Key: Key{
				Path: "listen", Flag: "listen", Value: "HOST:PORT", Default: "127.0.0.1:8080", Usage: "address of the data plane",
				Allowed: wantAddress, Restart: true,
				About: "The default is for this machine alone. The gateway asks nobody who they are: a caller's credential is the upstream's to judge, so an address that others reach belongs behind what guards the upstream's key. `:8080` is all addresses, port 0 any free one (the line `listening` in the log names it).",
			},
			access: text(func(c *Config) *string { return &c.Listen }),
		},
		{
			Key: Key{
				Path: "admin_listen", Flag: "admin-listen", Value: "HOST:PORT", Default: "127.0.0.1:9090",
				Usage: "address of the admin plane; not loopback needs admin_token", Allowed: wantAddress, Restart: true,
				About: "Health, metrics, conversations and their changes. It is a port of its own so that callers of the API cannot reach it by accident.",
			},
			access: text(func(c *Config) *string { return &c.AdminListen }),
		},
		{
			Key: Key{
				Path: "admin_hosts", Flag: "admin-host", Value: "NAME", Repeats: true,
				Usage:   "further name or address under which the admin plane may be asked",
				Allowed: "a host name or address, without scheme and path",
				About:   "A request must name in `Host` an address that it listens on, `localhost`, or one of these; else a page in an operator's browser could reach it under a name of its own. Needed where people or probes use a DNS name; `/livez` and `/readyz` answer under any.",
			},
			access: list(func(c *Config) *[]string { return &c.AdminHosts }),
		},
		{
			Key: Key{
				Path: pathAdminToken, Flag: "admin-token", Value: "TOKEN", Allowed: "a token",
				Usage: "bearer of the admin plane; better from environment or file, a flag is visible to other users",
				About: "With a token everything but `/livez`, `/readyz` and the page's own files needs it. Without one what shows or changes a conversation's content is refused, and the admin plane must stay on loopback.",
			},
			access: secret(func(c *Config) *Secret { return &c.AdminToken }),
		},
		{
			Key: Key{
				Path: pathAdminTokenFile, Value: "FILE", Usage: "file that holds the bearer of the admin plane", Allowed: "a file that holds the token",
				About: "Line breaks at its end are left out. A reload reads it again: to rotate the token, replace the file and send `SIGHUP`.",
			},
			access: file(func(f *files) *string { return &f.adminToken }),
		},
		{
			Key: Key{
				Path: "upstream", Flag: "upstream", Value: "URL", Restart: true,
				Usage:   "base URL of the API, such as https://api.openai.com; required",
				Allowed: "an http or https URL, such as https://api.openai.com",
				About:   "The path of a request comes after the path of this URL; a segment that both have in common, such as `/v1`, once. Callers' credentials go to its origin and nowhere else, which is why it holds none itself and a reload does not change it.",
			},
			access: text(func(c *Config) *string { return &c.Upstream }),
		},
	}
}

// windowing are the settings that say what is done, and what models accept.
func windowing() []setting {
	return []setting{
		{
			Key: Key{
				Path: "mode", Flag: "mode", Value: "MODE", Default: "fold", Allowed: "fold, observe or off",
				Usage: "fold; observe: decide and report, forward the original; off: a plain proxy",
				About: "`observe` says in headers, log and metrics what a fold would come to and changes nothing, so that windows and triggers can be chosen on real traffic first. `off` neither reads nor bounds bodies.",
			},
			access: mode(),
		},
		{
			Key: Key{
				Path: pathWindows, Flag: "window", Value: "[GLOB=]TOTAL[/INPUT]", Repeats: true,
				Usage:   "window in tokens of the models that match, the longest glob wins",
				Allowed: "[GLOB=]TOTAL[/INPUT] in tokens, such as gpt-4o*=128000",
				About:   "What is configured wins over all that the gateway learns, and is never doubted: a request that cannot fit it is refused without asking the upstream. In the file it is a map, `{\"gpt-4o*\": 128000, \"local-*\": 32768/30000}`. Without a glob it is for every model; INPUT is for models that take less than their total as a prompt.",
			},
			access: windows(),
		},
		{
			Key: Key{
				Path: "default_window", Flag: "default-window", Value: "TOKENS", Default: "0", Allowed: wantWindow(),
				Usage: "window of every model that nothing else knows; 0: unknown",
				About: "A guess: it folds, and never refuses a request. With 0 a model that no rule, advertisement, error or table tells of is not folded until an overflow error of the upstream has taught its window.",
			},
			access: tokens(func(c *Config) tokensField { return &c.DefaultWindow }),
		},
		{
			Key: Key{
				Path: "advertised", Flag: "advertised", Value: "BOOL", Default: "true", Allowed: wantBool,
				Usage: "ask the upstream what its models accept, beside large requests of models without a configured window",
				About: "The question is sent with the credential of the request that caused it, once at a time for each tenant, and no request waits for it. `false` where the upstream must see nothing but what callers send; what was answered before holds for up to 6 hours.",
			},
			access: boolean(func(c *Config) *bool { return &c.Advertised }), boolean: true,
		},
	}
}
