package config

// folding are the settings that say when and how much is folded.
func folding() []setting {
	return []setting{
		{
			Key: Key{
				Path: "compression.trigger", Flag: "trigger", Value: "SHARE", Default: "0.80", Allowed: "a number between 0 and 1",
				Usage: "share of usable from which a fold is prepared",
				About: "Usable is what the window leaves for the request: less the reserve for the answer and a safety margin. The room above the trigger is the time in which a summary is written while requests still fit; lower means more summaries and fewer waits. Neither 0 nor 1.",
			},
			access: share(func(c *Config) *float64 { return &c.Compression.Trigger }),
		},
		{
			Key: Key{
				Path: "compression.keep_recent", Flag: "keep-recent", Value: "SHARE", Default: "0.25", Allowed: "a number from 0 to less than the trigger",
				Usage: "share of the window for the messages kept at the end",
				About: "The newest messages that go on word for word. More keeps more detail and makes the next fold come sooner; 0 keeps the newest group alone. Together with recall it must be less than the trigger.",
			},
			access: share(func(c *Config) *float64 { return &c.Compression.KeepRecent }),
		},
		{
			Key: Key{
				Path: "compression.recall", Flag: "recall", Value: "SHARE", Default: "0.10", Allowed: "a number from 0 to 0.10",
				Usage: "share of the window for recalled passages; 0: off",
				About: "Passages of the folded part that bear on the newest question go along word for word, so that a detail which the summary left out can still be answered. They are the first to go where a request does not fit.",
			},
			access: share(func(c *Config) *float64 { return &c.Compression.Recall }),
		},
		{
			Key: Key{
				Path: "compression.prepare", Flag: "prepare", Value: "BOOL", Default: "true", Allowed: wantBool,
				Usage: "ask for a summary before it is needed",
				About: "Over the trigger a summary is written beside the request, for a later one. `false` asks only when a request cannot fit: fewer summaries are written, and each is waited for.",
			},
			access: boolean(func(c *Config) *bool { return &c.Compression.Prepare }), boolean: true,
		},
		{
			Key: Key{
				Path: "compression.wait", Flag: "wait", Value: "DURATION", Default: "30s", Allowed: wantDuration,
				Usage: "longest wait of a request that cannot fit; 0: never wait",
				About: "After it the request is folded without a model and the attempt goes on for the next one. A caller's own time-out, where it names one, ends the wait earlier.",
			},
			access: duration(func(c *Config) durationField { return &c.Compression.Wait }),
		},
		{
			Key: Key{
				Path: "compression.reserve_output", Flag: "reserve-output", Value: "TOKENS", Default: "4096", Allowed: wantTokens,
				Usage: "kept free for the answer when the request names no limit; at most a quarter of the window",
				About: "Most models share one window between prompt and answer. A request's own `max_tokens` or `max_completion_tokens` is taken whole instead, but never leaves less than a quarter of the total.",
			},
			access: tokens(func(c *Config) tokensField { return &c.Compression.ReserveOutput }),
		},
	}
}

// summarizing are the settings that say who writes summaries, and how long it
// may take.
func summarizing() []setting {
	return []setting{
		{
			Key: Key{
				Path: pathRoutes, FileOnly: true, Value: "LIST", Allowed: "a list of routes",
				Usage: "where summaries are asked for: name, url, model, api_key_env or api_key_file, window, idle",
				About: "They are tried in this order; one that failed lately comes after the others. None: the upstream, with the request's own model and credential. A reload takes a changed list for the attempts that begin after it, and reads every `api_key_file` again; `api_key_env` is of the environment at the start.",
			},
			access: routes(),
		},
		{
			Key: Key{
				Flag: flagRouteURL, Value: "URL", Usage: "one route instead of summarizer.routes; empty: the upstream",
				Allowed: "an http or https URL without credentials", Restart: true,
				About: "The short form of a single route. A base URL as SDKs take it: `/chat/completions` is appended unless it is there, and a URL without a path gets `/v1` first.",
			},
			access: file(func(f *files) *string { return &f.summarizerURL }),
		},
		{
			Key: Key{
				Flag: flagRouteModel, Value: "MODEL", Usage: "model of that route; empty: the request's own",
				Allowed: "the name of a model", Restart: true,
				About: "A smaller and faster model than the one that answers is usually the right one.",
			},
			access: file(func(f *files) *string { return &f.summarizerModel }),
		},
		{
			Key: Key{
				Path: "summarizer.idle", Flag: "summarizer-idle", Value: "DURATION", Default: "120s", Allowed: "a duration of at least 1ms, such as 120s", Restart: true,
				Usage: "silence allowed to a summary call; before its first text 300s where this is less",
				About: "After it the route counts as stalled and the next one is asked. A model that reads a long transcript is silent for minutes, so the first text may take longer; a route's own `idle` is meant as it stands.",
			},
			access: duration(func(c *Config) durationField { return &c.Summarizer.Idle }),
		},
		{
			Key: Key{
				Path: "summarizer.ceiling", Flag: "summarizer-ceiling", Value: "DURATION", Default: "600s", Allowed: "a duration of at least 1s, such as 600s", Restart: true,
				Usage: "longest time of one attempt",
				About: "Over all of its routes, whatever they do; no lease is extended past it. A credential is kept no longer.",
			},
			access: duration(func(c *Config) durationField { return &c.Summarizer.Ceiling }),
		},
		{
			Key: Key{
				Path: "summarizer.max_attempts", Flag: "max-attempts", Value: "N", Default: "16", Allowed: "a whole number from 1 to 10000", Restart: true,
				Usage: "attempts at once on this replica",
				About: "One more is not begun and nothing queues: that request is folded without a model, with the reason `full`. Each attempt keeps its request's body in memory until it ends.",
			},
			access: number(func(c *Config) *int { return &c.Summarizer.MaxAttempts }),
		},
	}
}
