package config

// storing are the settings of what replicas share.
func storing() []setting {
	return []setting{
		{
			Key: Key{
				Path: pathRedisURL, Flag: "redis-url", Value: "URL", Allowed: "the URL of a Redis deployment", Restart: true,
				Usage: "shared store; empty: a store in the process, for one replica",
				About: "`redis://[user:pass@]host[:port][/db]` is one server, `redis+cluster://host:port,host:port` a cluster, `redis+sentinel://host,host/master[/db]` a group watched by sentinels; `rediss` in place of `redis` is TLS. It may hold a password, and a flag is visible to other users: prefer environment or redis_url_file. With several replicas set tenant_secret too.",
			},
			access: secret(func(c *Config) *Secret { return &c.RedisURL }),
		},
		{
			Key: Key{
				Path: pathRedisURLFile, Value: "FILE", Usage: "file that holds the URL of the shared store", Allowed: "a file that holds the URL", Restart: true,
				About: "For a URL with a password in it. Line breaks at its end are left out. A reload that finds another URL there is refused.",
			},
			access: file(func(f *files) *string { return &f.redisURL }),
		},
		{
			Key: Key{
				Path: pathStoreKeys, Value: "KEYS", Allowed: wantStoreKeys,
				Usage: "keys that encrypt handoffs in Redis, the same on all replicas; empty: they are readable there",
				About: "A list of `id=key`, separated by line breaks, commas or spaces; a key is 32 random bytes, in base64 or as 64 hexadecimal digits (`openssl rand -base64 32`). The first one writes, all of them read. The word `plain` among them stands for handoffs that are not encrypted: where it is missing, such a handoff is not used. A handoff that cannot be decrypted is as if it were not there: one summary more, and never an error. What stays readable, how keys are rotated and how a running fleet is given its first one: [security.md](security.md#secrets-at-rest). Without redis_url they do nothing.",
			},
			access: secret(func(c *Config) *Secret { return &c.StoreKeys }),
		},
		{
			Key: Key{
				Path: pathStoreKeysFile, Value: "FILE", Usage: "file that holds the keys that encrypt handoffs in Redis", Allowed: "a file that holds the keys",
				About: "One `id=key` a line; a `#` begins a comment. A reload reads it again: that is how keys are rotated.",
			},
			access: file(func(f *files) *string { return &f.storeKeys }),
		},
		{
			Key: Key{
				Path: "lease", Flag: "lease", Value: "DURATION", Default: "15s", Allowed: "a duration of at least 1s, such as 15s", Restart: true,
				Usage: "how long a silent owner counts as alive",
				About: "When a replica dies while it summarises, another one takes over after this long. It is renewed every second, or every third of it where that is shorter; much less than the default makes a slow store look like a dead owner.",
			},
			access: duration(func(c *Config) durationField { return &c.Lease }),
		},
		{
			Key: Key{
				Path: "retention", Flag: "retention", Value: "DURATION", Default: "168h", Allowed: "a duration of at least 1m, such as 168h", Restart: true,
				Usage: "how long a conversation is kept since its last use",
				About: "Summaries and counters; it bounds what the store holds. A conversation that comes back later pays one summary again.",
			},
			access: duration(func(c *Config) durationField { return &c.Retention }),
		},
	}
}

// requesting are the settings that bound what requests may take.
func requesting() []setting {
	return []setting{
		{
			Key: Key{
				Path: "hold", Flag: "hold", Value: "DURATION", Default: "5s", Allowed: wantDuration,
				Usage: "longest time a response head is held while a retry is possible; 0: never",
				About: "An upstream that refuses a large request for its length is asked again with a fold, provided that the caller has seen nothing yet. So the head of a large request's answer is kept back until the answer has begun, at most this long.",
			},
			access: duration(func(c *Config) durationField { return &c.Hold }),
		},
		{
			Key: Key{
				Path: "keepalive", Flag: "keepalive", Value: "DURATION", Default: "0", Allowed: wantDuration,
				Usage: "comment frames for a waiting stream, for balancers with short idle limits; 0: off",
				About: "For balancers whose idle limit is below compression.wait. Off by default since the first frame fixes the status: it is 200 from then on, and later trouble travels in the stream.",
			},
			access: duration(func(c *Config) durationField { return &c.Keepalive }),
		},
		{
			Key: Key{
				Path: "body_limit", Flag: "body-limit", Value: "SIZE", Default: "64MiB", Allowed: "a size of at least 1KiB, such as 64MiB",
				Usage: "largest request body",
				About: "Of a chat request, which is read into memory to be looked at; beyond it is answered with 413. Everything else is streamed and not bounded.",
			},
			access: size(func(c *Config) *int64 { return &c.BodyLimit }),
		},
		{
			Key: Key{
				Path: "memory", Flag: "memory", Value: "SIZE", Default: "1GiB", Allowed: "a size of at least body_limit, such as 1GiB",
				Usage: "bytes of bodies in flight; beyond: 503 overloaded",
				About: "For the whole process. A request that finds no room is refused at once, with `Retry-After`, since a queue of bodies is what the bound is there to prevent. The process itself takes more than this.",
			},
			access: size(func(c *Config) *int64 { return &c.Memory }),
		},
		{
			Key: Key{
				Path: "upstream_timeout", Flag: "upstream-timeout", Value: "DURATION", Default: "10m", Allowed: "a duration of at least 1s, such as 10m",
				Usage: "silence allowed to the upstream",
				About: "Before the head or between two pieces of the body, not for the whole: an answer may take as long as it does. 504 before the first byte; after it the response is cut, so that it does not look complete.",
			},
			access: duration(func(c *Config) durationField { return &c.UpstreamTimeout }),
		},
	}
}

// tenants are the settings that tell callers apart.
func tenants() []setting {
	return []setting{
		{
			Key: Key{
				Path: "tenant_header", Flag: "tenant-header", Value: "NAME", Allowed: "the name of a header",
				Usage: "header that tells tenants apart; empty: the caller's credential does",
				About: "Tenants share no summaries. A credential that is rotated makes a new tenant, whose conversations pay one summary each; name a header that your own edge sets (and strips from outside) where that matters. A change makes every tenant a new one.",
			},
			access: text(func(c *Config) *string { return &c.TenantHeader }),
		},
		{
			Key: Key{
				Path: pathTenantSecret, Value: "SECRET", Usage: "keys the hash of tenants, the same on all replicas", Allowed: "a secret",
				About: "Without it a fixed label keys the hash, and whoever reads the store can test guesses of a credential. Replicas with different secrets do not share summaries; a change makes every tenant a new one.",
			},
			access: secret(func(c *Config) *Secret { return &c.TenantSecret }),
		},
		{
			Key: Key{
				Path: pathTenantSecretFile, Value: "FILE", Usage: "file that holds the tenant secret", Allowed: "a file that holds the secret",
				About: "Line breaks at its end are left out. A reload reads it again.",
			},
			access: file(func(f *files) *string { return &f.tenantSecret }),
		},
	}
}

// process are the settings of the process itself.
func process() []setting {
	return []setting{
		{
			Key: Key{
				Path: "drain_delay", Flag: "drain-delay", Value: "DURATION", Default: "0", Allowed: wantDuration,
				Usage: "how long new requests are still served after SIGTERM, while /readyz fails already",
				About: "Balancers notice a replica that is leaving only at their next probe. Set it a little over the time that yours takes, and no caller is sent to a replica that refuses.",
			},
			access: duration(func(c *Config) durationField { return &c.DrainDelay }),
		},
		{
			Key: Key{
				Path: "drain", Flag: "drain", Value: "DURATION", Default: "30s", Allowed: wantDuration,
				Usage: "longest that running requests may take after SIGTERM",
				About: "Counted from the end of drain_delay. From then on new requests get 503 `draining`, and the process leaves as soon as none is left. Give the orchestrator's own grace period a few seconds more than both together. 0: they are cut at once.",
			},
			access: duration(func(c *Config) durationField { return &c.Drain }),
		},
		{
			Key: Key{
				Path: "log_level", Flag: "log-level", Value: "LEVEL", Default: "info", Allowed: "debug, info, warn or error",
				Usage: "debug, info, warn or error",
				About: "At `info` there is one line for each chat request, at `warn` only what somebody may want to look at. No level shows a body or a credential.",
			},
			access: logLevel(),
		},
		{
			Key: Key{
				Path: "log_format", Flag: "log-format", Value: "FORMAT", Default: "auto", Allowed: "auto, text or json", Restart: true,
				Usage: "auto, text or json; auto: text on a terminal, else json",
				About: "What collects the lines should not meet two forms in one file, so a reload does not change it.",
			},
			access: logFormat(),
		},
	}
}
