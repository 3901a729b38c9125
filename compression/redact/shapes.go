package redact

import "math"

// shape is what the tokens of one issuer look like.
type shape struct {
	prefix string
	set    uint16 // what may follow
	least  int    // how much must follow
	most   int    // how much may; 0: any
	needs  need
	keep   bool // the prefix is no part of the secret
}

// need is what else a shape must have, where its prefix is a common word too.
type need uint8

const (
	needsNothing need = iota
	needsDigit        // among what follows
	needsNoise        // see noisy
)

// forever is the length of a run that is as long as it is.
const forever = math.MaxInt

// shapes are sorted by their first byte, longer prefixes before their own
// beginnings. Where an issuer's length is fixed, least allows for a token that
// was cut short, as far as the prefix says enough by itself.
//
// Sources: the issuers' documentation of their formats (named in the comment);
// for lengths and alphabets also the public rule list of gitleaks, where the
// documentation says less.
var shapes = [...]shape{
	// age (age-encryption.org/v1): Bech32.
	{prefix: "AGE-SECRET-KEY-1", set: up | digit, least: 32},
	// Alibaba Cloud access key ids.
	{prefix: "LTAI", set: alnum, least: 16, most: 24, needs: needsDigit},
	// AWS unique identifiers (IAM user guide): of access keys, long term,
	// temporary, Bedrock bearer tokens and STS service tokens.
	{prefix: "AKIA", set: up | digit, least: 16, most: 16},
	{prefix: "ASIA", set: up | digit, least: 16, most: 16},
	{prefix: "ABIA", set: up | digit, least: 16, most: 16, needs: needsDigit},
	{prefix: "ACCA", set: up | digit, least: 16, most: 16, needs: needsDigit},
	{prefix: "ABSK", set: alnum | slash | equals, least: 80},
	// Artifactory API keys and reference tokens (JFrog).
	{prefix: "AKCp", set: alnum, least: 50},
	// Google API keys (Google Cloud), Yandex Cloud API keys.
	{prefix: "AIza", set: url64, least: 30, most: 40},
	{prefix: "AQVN", set: url64, least: 35, most: 40, needs: needsDigit},
	// Octopus Deploy API keys.
	{prefix: "API-", set: up | digit, least: 26, most: 32, needs: needsDigit},
	// Anthropic's and OpenAI's keys, and the many issuers that took over "sk-":
	// OpenRouter, LiteLLM, DeepSeek, Moonshot, DashScope.
	{prefix: "sk-ant-", set: url64, least: 16},
	{prefix: "sk-proj-", set: url64, least: 16, needs: needsNoise},
	{prefix: "sk-svcacct-", set: url64, least: 16, needs: needsNoise},
	{prefix: "sk-admin-", set: url64, least: 16, needs: needsNoise},
	{prefix: "sk-or-v1-", set: hexed, least: 20},
	{prefix: "sk-", set: url64, least: 20, needs: needsNoise},
	// GitHub (token formats): personal, OAuth, user-to-server, server-to-server,
	// refresh, fine-grained.
	{prefix: "ghp_", set: alnum, least: 20},
	{prefix: "gho_", set: alnum, least: 20},
	{prefix: "ghu_", set: alnum, least: 20},
	{prefix: "ghs_", set: url64 | dot, least: 20},
	{prefix: "ghr_", set: alnum, least: 20},
	{prefix: "github_pat_", set: word, least: 20},
	// GitLab (token prefixes): personal, deploy, runner, pipeline trigger, job,
	// feed, incoming mail, agent, SCIM, OAuth application, feature flag client.
	{prefix: "glpat-", set: url64 | dot, least: 18},
	{prefix: "gldt-", set: url64, least: 18},
	{prefix: "glrt-", set: url64 | dot, least: 18},
	{prefix: "glrtr-", set: url64 | dot, least: 18},
	{prefix: "glptt-", set: url64, least: 18},
	{prefix: "glcbt-", set: url64, least: 18},
	{prefix: "glft-", set: url64, least: 18},
	{prefix: "glimt-", set: url64, least: 18},
	{prefix: "glagent-", set: url64, least: 40},
	{prefix: "glsoat-", set: url64, least: 18},
	{prefix: "gloas-", set: url64, least: 40},
	{prefix: "glffct-", set: url64, least: 18},
	{prefix: "GR1348941", set: url64, least: 18},
	// Grafana: cloud access policies, service accounts.
	{prefix: "glc_", set: alnum | slash | equals, least: 32},
	{prefix: "glsa_", set: word, least: 32},
	// Groq, xAI, Perplexity, Replicate, Hugging Face, Fireworks, Tavily, LangSmith.
	{prefix: "gsk_", set: alnum, least: 40},
	{prefix: "xai-", set: alnum, least: 40},
	{prefix: "pplx-", set: alnum, least: 32},
	{prefix: "r8_", set: alnum, least: 32},
	{prefix: "hf_", set: alnum, least: 30},
	{prefix: "api_org_", set: alnum, least: 30},
	{prefix: "fw_", set: alnum, least: 20, needs: needsNoise},
	{prefix: "tvly-", set: url64, least: 20, needs: needsNoise},
	{prefix: "lsv2_", set: word, least: 40},
	{prefix: "nvapi-", set: url64, least: 40},
	// Slack (token types; webhooks): the last parts of the URL are the secret.
	{prefix: "xoxb-", set: alnum | dash, least: 16, needs: needsDigit},
	{prefix: "xoxp-", set: alnum | dash, least: 16, needs: needsDigit},
	{prefix: "xoxa-", set: alnum | dash, least: 8, needs: needsDigit},
	{prefix: "xoxr-", set: alnum | dash, least: 8, needs: needsDigit},
	{prefix: "xoxs-", set: alnum | dash, least: 16, needs: needsDigit},
	{prefix: "xoxo-", set: alnum | dash, least: 16, needs: needsDigit},
	{prefix: "xoxc-", set: alnum | dash, least: 16, needs: needsDigit},
	{prefix: "xoxd-", set: url64 | slash | equals, least: 16, needs: needsDigit},
	{prefix: "xoxe.xox", set: alnum | dash, least: 16, needs: needsDigit},
	{prefix: "xoxe-", set: alnum | dash, least: 16, needs: needsDigit},
	{prefix: "xapp-", set: alnum | dash, least: 16, needs: needsDigit},
	{prefix: "hooks.slack.com/services/", set: alnum | slash, least: 20, keep: true},
	{prefix: "hooks.slack.com/workflows/", set: alnum | slash, least: 20, keep: true},
	{prefix: "hooks.slack.com/triggers/", set: alnum | slash, least: 20, keep: true},
	// Discord's webhooks, Microsoft Teams' webhooks.
	{prefix: "discord.com/api/webhooks/", set: url64 | slash, least: 40, keep: true},
	{prefix: "discordapp.com/api/webhooks/", set: url64 | slash, least: 40, keep: true},
	{prefix: "webhook.office.com/webhookb2/", set: url64 | slash, least: 40, keep: true},
	// Google OAuth: client secrets, access tokens.
	{prefix: "GOCSPX-", set: url64, least: 20},
	{prefix: "ya29.", set: url64 | dot, least: 20},
	// Stripe (keys): secret, restricted, webhook signing. Live and test.
	{prefix: "sk_live_", set: alnum, least: 10},
	{prefix: "sk_test_", set: alnum, least: 10},
	{prefix: "sk_prod_", set: alnum, least: 10},
	{prefix: "rk_live_", set: alnum, least: 10},
	{prefix: "rk_test_", set: alnum, least: 10},
	{prefix: "rk_prod_", set: alnum, least: 10},
	{prefix: "whsec_", set: alnum | slash | equals, least: 20},
	// Mail: SendGrid, Brevo.
	{prefix: "SG.", set: url64 | dot, least: 40},
	{prefix: "xkeysib-", set: alnum | dash, least: 40},
	// Package registries: npm, PyPI, RubyGems, Docker Hub, NuGet, Clojars.
	{prefix: "npm_", set: alnum, least: 30},
	{prefix: "pypi-", set: url64, least: 32, needs: needsNoise},
	{prefix: "rubygems_", set: hexed, least: 40},
	{prefix: "dckr_pat_", set: url64, least: 20},
	{prefix: "dckr_oat_", set: url64, least: 20},
	{prefix: "oy2", set: low | digit, least: 43, most: 43, needs: needsDigit},
	{prefix: "CLOJARS_", set: alnum, least: 50},
	// Clouds and platforms: Databricks, DigitalOcean, Heroku, Fly.io, Render,
	// Scalingo, PlanetScale, Supabase, Pulumi, Doppler, Prefect, Vercel's blob
	// store, OpenShift.
	{prefix: "dapi", set: hexed | dash, least: 32, most: 34, needs: needsDigit},
	{prefix: "dop_v1_", set: hexed, least: 32},
	{prefix: "doo_v1_", set: hexed, least: 32},
	{prefix: "dor_v1_", set: hexed, least: 32},
	{prefix: "HRKU-AA", set: url64, least: 40},
	{prefix: "fo1_", set: url64, least: 40},
	{prefix: "fm1a_", set: alnum | slash | equals, least: 60},
	{prefix: "fm1r_", set: alnum | slash | equals, least: 60},
	{prefix: "fm2_", set: alnum | slash | equals, least: 60},
	{prefix: "rnd_", set: alnum, least: 28, most: 40, needs: needsNoise},
	{prefix: "tk-us-", set: url64, least: 40},
	{prefix: "pscale_tkn_", set: url64 | dot, least: 28},
	{prefix: "pscale_oauth_", set: url64 | dot, least: 28},
	{prefix: "pscale_pw_", set: url64 | dot, least: 28},
	{prefix: "sbp_", set: hexed, least: 40},
	{prefix: "sb_secret_", set: url64, least: 20},
	{prefix: "pul-", set: hexed, least: 40, most: 40},
	{prefix: "dp.pt.", set: alnum, least: 40},
	{prefix: "dp.st.", set: alnum | dot | underscore, least: 40},
	{prefix: "pnu_", set: alnum, least: 36},
	{prefix: "vercel_blob_rw_", set: word, least: 20},
	{prefix: "sha256~", set: url64, least: 43, most: 43},
	// Shops and payments: Shopify, Square, Flutterwave, EasyPost, Shippo.
	{prefix: "shpat_", set: hexed, least: 32},
	{prefix: "shpca_", set: hexed, least: 32},
	{prefix: "shppa_", set: hexed, least: 32},
	{prefix: "shpss_", set: hexed, least: 32},
	{prefix: "sq0atp-", set: url64, least: 20},
	{prefix: "sq0csp-", set: url64, least: 20},
	{prefix: "EAAA", set: url64, least: 56, most: 64, needs: needsDigit},
	{prefix: "FLWSECK", set: url64, least: 16},
	{prefix: "EZAK", set: alnum, least: 54},
	{prefix: "EZTK", set: alnum, least: 54},
	{prefix: "shippo_live_", set: hexed, least: 40},
	{prefix: "shippo_test_", set: hexed, least: 40},
	// Telephony: Twilio API keys (account SIDs, "AC…", are names and stay).
	{prefix: "SK", set: digit | hexLow, least: 32, most: 32, needs: needsDigit},
	// Secrets managers: Vault service, batch and recovery tokens, 1Password.
	{prefix: "hvs.", set: url64, least: 20},
	{prefix: "hvb.", set: url64, least: 20},
	{prefix: "hvr.", set: url64, least: 20},
	{prefix: "ops_eyJ", set: alnum | slash | equals, least: 60},
	// Work: Linear, Notion, Airtable, Atlassian, Asana, Figma, Postman, Typeform,
	// ReadMe, Infracost.
	{prefix: "lin_api_", set: alnum, least: 30},
	{prefix: "lin_oauth_", set: alnum, least: 30},
	{prefix: "ntn_", set: alnum, least: 40},
	{prefix: "secret_", set: alnum, least: 43, most: 43, needs: needsNoise},
	{prefix: "pat", set: alnum | dot, least: 79, most: 79, needs: needsDigit},
	{prefix: "ATATT3", set: url64 | equals, least: 40},
	{prefix: "ATCTT3", set: url64 | equals, least: 40},
	{prefix: "ATBB", set: alnum | equals, least: 28, needs: needsNoise},
	{prefix: "figd_", set: url64, least: 40},
	{prefix: "PMAK-", set: hexed | dash, least: 40},
	{prefix: "tfp_", set: url64 | dot | equals, least: 50},
	{prefix: "rdme_", set: alnum, least: 60},
	{prefix: "ico-", set: alnum, least: 32, most: 32, needs: needsDigit},
	// Watching: New Relic, Sentry, Dynatrace, SonarQube, Sourcegraph. (Those of
	// Datadog, Fastly and Cloudflare have no prefix; their names tell.)
	{prefix: "NRAK-", set: up | digit, least: 27},
	{prefix: "NRII-", set: url64, least: 32},
	{prefix: "NRJS-", set: hexed, least: 19},
	{prefix: "sntrys_", set: word | slash | equals, least: 60},
	{prefix: "sntryu_", set: hexed, least: 60},
	{prefix: "dt0c01.", set: alnum | dot, least: 60},
	{prefix: "squ_", set: alnum, least: 40},
	{prefix: "sqp_", set: alnum, least: 40},
	{prefix: "sqa_", set: alnum, least: 40},
	{prefix: "sgp_", set: word, least: 40},
	// Facebook page and system user tokens.
	{prefix: "EAA", set: alnum, least: 100},
}

// shape finds the token that begins with the word at i: what of it to replace;
// to is 0 where there is none.
func (x *scanner) shape(i int) (from, to int) {
	for k := range byFirst[x.s[i]] {
		f := &byFirst[x.s[i]][k]
		if !prefixed(x.s, i, f.prefix) {
			continue
		}
		if end := f.match(x.s, i+len(f.prefix)); end > 0 {
			if f.keep {
				i += len(f.prefix)
			}
			return i, end
		}
	}
	return x.irregular(i)
}

// judged bounds how much of a run is looked at before it is known to be a secret.
const judged = 128

// match is where the token ends whose prefix ends at i, or 0.
func (f *shape) match(s string, i int) int {
	end := span(s, i, f.set, judged)
	if end-i < f.least || !f.needs.met(s[i:end]) {
		return 0
	}
	if f.most > 0 {
		if end-i > f.most || end < len(s) && class[s[end]]&word != 0 {
			return 0 // it goes on: something else
		}
	} else {
		end = span(s, end, f.set, forever)
	}
	for s[end-1] == '.' {
		end-- // the end of a sentence
	}
	if end-i < f.least {
		return 0
	}
	return end
}

// met reports whether what follows the prefix satisfies the need.
func (n need) met(rest string) bool {
	switch n {
	case needsDigit:
		return count(rest, digit) > 0
	case needsNoise:
		return noisy(rest)
	}
	return true
}

// noisy tells "sk-" and a key from "sk-" and words with dashes between them: one
// part is longer than words are, or as long as a word and holds a digit, or the
// whole is long and holds everything.
func noisy(rest string) bool {
	if len(rest) >= 32 && count(rest, digit) > 1 && count(rest, up) > 1 && count(rest, low) > 1 {
		return true
	}
	for i := 0; i < len(rest); {
		end := span(rest, i, alnum, forever)
		if n := end - i; n >= 20 || n >= 12 && count(rest[i:end], digit) > 0 && count(rest[i:end], alpha) > 0 {
			return true
		}
		i = end + 1
	}
	return false
}

// count is the number of bytes of a set.
func count(s string, set uint16) int {
	n := 0
	for i := range len(s) {
		if class[s[i]]&set != 0 {
			n++
		}
	}
	return n
}
