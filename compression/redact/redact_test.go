package redact_test

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/redact"
)

// made is n characters of an alphabet, always the same for the same seed. Tests
// make their secrets, so that no scanner finds one in this file.
func made(alphabet string, seed, n int) string {
	h := uint32(seed)*2654435761 + 97
	out := make([]byte, n)
	for i := range out {
		h = h*1664525 + 1013904223
		out[i] = alphabet[int(h>>8)%len(alphabet)]
	}
	return string(out)
}

const (
	lowers   = "abcdefghijklmnopqrstuvwxyz"
	uppers   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits   = "0123456789"
	hexes    = "0123456789abcdef"
	base62   = digits + uppers + lowers
	base64s  = base62 + "+/"
	urlBase  = base62 + "-_"
	upDigits = uppers + digits
)

// issued are tokens of known shapes, each without a name beside it.
func issued() map[string]string {
	return map[string]string{
		"OpenAI":                  "sk-" + made(base62, 1, 20) + "T3BlbkFJ" + made(base62, 2, 20),
		"OpenAI project":          "sk-" + "proj-" + made(urlBase, 3, 120) + "a1B2",
		"OpenAI service account":  "sk-" + "svcacct-" + made(urlBase, 4, 120) + "a1B2",
		"OpenAI, letters only":    "sk-" + made(lowers, 5, 26),
		"Anthropic":               "sk-" + "ant-api03-" + made(urlBase, 6, 93) + "AA",
		"OpenRouter":              "sk-" + "or-v1-" + made(hexes, 7, 64),
		"DeepSeek":                "sk-" + made(hexes, 8, 32),
		"GitHub personal":         "ghp_" + made(base62, 9, 36),
		"GitHub OAuth":            "gho_" + made(base62, 10, 36),
		"GitHub user":             "ghu_" + made(base62, 11, 36),
		"GitHub server":           "ghs_" + made(base62, 12, 36),
		"GitHub refresh":          "ghr_" + made(base62, 13, 76),
		"GitHub fine-grained":     "github_" + "pat_" + made(base62, 14, 22) + "_" + made(base62, 15, 59),
		"GitLab":                  "glpat-" + made(urlBase, 16, 20),
		"GitLab routable":         "glpat-" + made(urlBase, 17, 27) + ".01.1a2b3c4d5",
		"GitLab runner":           "glrt-" + made(urlBase, 18, 20),
		"GitLab deploy":           "gldt-" + made(urlBase, 19, 20),
		"Slack bot":               "xoxb-" + made(digits, 20, 12) + "-" + made(digits, 21, 13) + "-" + made(base62, 22, 24),
		"Slack user":              "xoxp-" + made(digits, 23, 12) + "-" + made(digits, 24, 12) + "-" + made(hexes, 25, 32),
		"Slack app":               "xapp-" + "1-A" + made(upDigits, 26, 10) + "-" + made(digits, 27, 13) + "-" + made(hexes, 28, 64),
		"AWS key id":              "AKIA" + made(upDigits, 29, 16),
		"AWS temporary key id":    "ASIA" + made(upDigits, 30, 16),
		"Google API key":          "AIza" + made(urlBase, 31, 35),
		"Google client secret":    "GOCSPX-" + made(urlBase, 32, 28),
		"Google access token":     "ya29." + made(urlBase, 33, 60),
		"Stripe live":             "sk_" + "live_" + made(base62, 34, 24),
		"Stripe test":             "sk_" + "test_" + made(base62, 35, 24),
		"Stripe restricted":       "rk_" + "live_" + made(base62, 36, 24),
		"Stripe webhook":          "whsec_" + made(base62, 37, 32),
		"SendGrid":                "SG." + made(urlBase, 38, 22) + "." + made(urlBase, 39, 43),
		"npm":                     "npm_" + made(base62, 40, 36),
		"PyPI":                    "pypi-" + "AgEIcHlwaS5vcmc" + made(urlBase, 41, 80),
		"Hugging Face":            "hf_" + made(lowers+uppers, 42, 34),
		"Docker Hub":              "dckr_" + "pat_" + made(urlBase, 43, 27),
		"Databricks":              "dapi" + made(hexes, 44, 32),
		"Shopify":                 "shpat_" + made(hexes, 45, 32),
		"Square":                  "sq0atp-" + made(urlBase, 46, 22),
		"Twilio":                  "SK" + made(hexes, 47, 32),
		"Telegram":                made(digits[1:], 48, 10) + ":AA" + made(urlBase, 49, 33),
		"Discord":                 "MT" + made(base62, 50, 22) + "." + made(urlBase, 51, 6) + "." + made(urlBase, 52, 38),
		"DigitalOcean":            "dop_" + "v1_" + made(hexes, 53, 64),
		"Vault":                   "hvs." + made(urlBase, 54, 95),
		"Linear":                  "lin_" + "api_" + made(base62, 55, 40),
		"Postman":                 "PMAK-" + made(hexes, 56, 24) + "-" + made(hexes, 57, 34),
		"Mailchimp":               made(hexes, 58, 32) + "-us21",
		"Terraform Cloud":         made(base62, 59, 14) + ".atlasv1." + made(urlBase, 60, 67),
		"Entra client secret":     made(base62, 61, 3) + "8Q~" + made(urlBase, 62, 34),
		"Atlassian":               "ATATT3" + made(urlBase, 63, 180),
		"Notion":                  "ntn_" + made(digits, 64, 11) + made(base62, 65, 35),
		"Groq":                    "gsk_" + made(base62, 66, 52),
		"xAI":                     "xai-" + made(base62, 67, 80),
		"age":                     "AGE-SECRET-KEY-1" + made("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 68, 58),
		"web token":               webToken(),
		"encrypted web token":     "eyJ" + made(urlBase, 69, 40) + ".." + made(urlBase, 70, 16) + "." + made(urlBase, 71, 60) + "." + made(urlBase, 72, 22),
		"private key in base64":   "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ" + made(base62, 73, 400) + "==",
		"Supabase":                "sbp_" + made(hexes, 74, 40),
		"Fly":                     "fo1_" + made(urlBase, 75, 43),
		"Grafana service account": "glsa_" + made(base62, 76, 32) + "_" + made(hexes, 77, 8),
		"New Relic":               "NRAK-" + made(upDigits, 78, 27),
		"Sentry":                  "sntryu_" + made(hexes, 79, 64),
		"Figma":                   "figd_" + made(urlBase, 80, 40),
	}
}

func webToken() string {
	return "eyJ" + made(urlBase, 81, 33) + ".eyJ" + made(urlBase, 82, 120) + "." + made(urlBase, 83, 43)
}

// TestIssued: a token goes whole, wherever it stands.
func TestIssued(t *testing.T) {
	frames := map[string][2]string{
		"alone":      {"", ""},
		"sentence":   {"use ", ". Then go on"},
		"comma":      {"one,", ",two"},
		"brackets":   {"(", ")"},
		"quotes":     {`{"x": "`, `", "y": 1}`},
		"escaped":    {`{\"x\": \"`, `\"}`},
		"after \\n":  {`line\n`, `\nline`},
		"lines":      {"a\n", "\nb"},
		"flag":       {"--x=", " --y"},
		"underlined": {"__", " "},
		"backticks":  {"`", "`"},
		"Chinese":    {"密文是", "。"},
		"bad UTF-8":  {"\xff", "\xfe"},
	}
	for name, token := range issued() {
		for at, f := range frames {
			got := redact.Text(f[0] + token + f[1])
			if want := f[0] + redact.Mark + f[1]; got != want {
				t.Errorf("%s, %s: got %q, want %q", name, at, got, want)
			}
		}
		if f := "x" + token; strings.HasPrefix(redact.Text(f), "x[") {
			t.Errorf("%s: found within a word: %q", name, redact.Text(f))
		}
	}
}

// gone are texts in which ‹ and › stand around what must go, all of it.
var gone = map[string]string{
	"env":                      "DB_PASSWORD=‹hunter2›",
	"env, a word":              "DB_PASSWORD=‹swordfish›\nDB_HOST=db",
	"env, exported":            "export API_KEY=‹" + made(base62, 101, 24) + "›",
	"env, quoted":              `SECRET_KEY="‹` + made(base62, 102, 24) + `›"`,
	"env, symbols":             "MYSQL_ROOT_PASSWORD=‹p@ss,w0rd!x#1›",
	"env, Rails":               "SECRET_KEY_BASE=‹" + made(hexes, 103, 64) + "›",
	"env, AWS":                 "AWS_SECRET_ACCESS_KEY=‹" + made(base64s, 104, 40) + "›",
	"env, padded":              "SIGNING_KEY=‹/" + made(base62, 105, 42) + "=›",
	"env, suffixed":            "DB_PASSWORD_PROD=‹hunter2x›",
	"env, docker inspect":      `"Env": ["PATH=/bin", "DB_PASSWORD=‹hunter2›"]`,
	"env before a command":     "PGPASSWORD=‹s3cret› psql -h db",
	"INI":                      "password = ‹hunter2›",
	"properties":               "spring.datasource.password=‹swordfish›",
	"netrc-like AWS file":      "aws_secret_access_key = ‹" + made(base64s, 105, 40) + "›",
	"YAML":                     "  password: ‹hunter2›\n  user: bob",
	"YAML, a word":             "db:\n  password: ‹swordfish›\n  user: bob",
	"YAML, quoted":             "password: '‹correcthorse›'",
	"YAML, number":             "password: ‹12345678›",
	"YAML, list":               "- token: ‹" + made(hexes, 106, 40) + "›",
	"YAML, comment":            "password: ‹hunter2› # change it",
	"JSON":                     `{"password": "‹hunter2›", "user": "bob"}`,
	"JSON, compact":            `{"user":"bob","password":"‹swordfish›"}`,
	"JSON, symbols":            `{"password":"‹a,b;c}d]e&f\"g1›","user":"x"}`,
	"JSON, camel":              `{"clientSecret":"‹` + made(base62, 107, 32) + `›"}`,
	"JSON, plain client":       `{"client_secret": "‹swordfish›"}`,
	"JSON, uuid":               `{"apiKey": "‹1b4e28ba-2fa1-11d2-883f-0016d3cca427›"}`,
	"JSON in a string":         `{"arguments":"{\"user\":\"bob\",\"password\":\"‹hunter2›\"}"}`,
	"JSON in a string, spaced": `{\"api_key\": \"‹` + made(base62, 108, 20) + `›\", \"n\": 3}`,
	"JSON in a string twice":   `{\\\"password\\\": \\\"‹hunter2›\\\"}`,
	"env in a string":          `"USER=bob\nPASSWORD=‹hunter2›\nHOST=x"`,
	"env in a string, cut":     `PASSWORD=‹hunter2›\nHO`,
	"Python":                   "password = '‹hunter2›'",
	"Python, bytes":            "secret_key = b'‹" + made(base62, 109, 24) + "›'",
	"Python, environ":          `os.environ["DB_PASSWORD"] = "‹hunter2›"`,
	"Go":                       `password := "‹hunter2›"`,
	"PHP":                      `'password' => '‹swordfish›',`,
	"Ruby":                     `password: "‹hunter2›",`,
	"compared":                 `if password == "‹hunter2›" {`,
	"Java":                     `private static final String API_KEY = "‹` + made(base62, 110, 24) + `›";`,
	"XML":                      "<password>‹hunter2›</password>",
	"XML, Maven":               "<server><username>bob</username><password>‹swordfish›</password></server>",
	"flag":                     "tool --password ‹hunter2› --user bob",
	"flag, a word":             "tool --password ‹swordfish› --user bob",
	"flag, equals":             "tool --db-password=‹swordfish› --user bob",
	"flag, quoted":             `tool --password '‹hun,ter2›' x`,
	"flag, token":              "tool --api-key ‹" + made(base62, 111, 24) + "›",
	"curl user":                "curl -u bob:‹hunter2› https://x",
	"curl user, quoted":        `curl -s -u "bob:‹hunter2›" https://x`,
	"kubectl":                  "kubectl create secret generic db --from-literal=password=‹S3cret!› -n x",
	"URL":                      "postgres://bob:‹hunter2›@db:5432/app",
	"URL, no user":             "redis://:‹hunter2›@cache:6379/0",
	"URL, at sign":             "https://bob:‹p@ss:w0rd›@h/x",
	"URL, several hosts":       "mongodb://bob:‹hunter2›@h1:1,h2:2/x",
	"URL, token as user":       "https://‹ghp_" + made(base62, 112, 36) + "›:‹x-oauth-basic›@github.com/x",
	"query":                    "https://x/y?api_key=‹" + made(base62, 113, 24) + "›&q=1",
	"query, several":           "?a=1&access_token=‹" + made(hexes, 114, 40) + "›&b=2#c",
	"query, password":          "/login?user=bob&password=‹swordfish›&x=1",
	"query, signed":            "https://s/x?X-Amz-Expires=300&X-Amz-Signature=‹" + made(hexes, 115, 64) + "›",
	"query, SAS":               "https://s/x?sv=2024&sig=‹" + made(base62, 116, 43) + "%3D›&se=1",
	"bearer":                   "Authorization: Bearer ‹" + made(base62, 117, 40) + "›",
	"bearer in a header flag":  `curl -H "Authorization: Bearer ‹` + made(base62, 118, 40) + `›" https://x`,
	"bearer in JSON":           `{"Authorization": "Bearer ‹` + made(base62, 119, 40) + `›"}`,
	"bearer in an argument":    `{\"headers\":{\"Authorization\":\"Bearer ‹` + made(base62, 120, 40) + `›\"}}`,
	"bearer alone":             "sent Bearer ‹" + made(base62, 121, 40) + "› and got 401",
	"basic":                    "Authorization: Basic ‹dXNlcjpwYXNzd29yZA==›",
	"basic, proxy":             "Proxy-Authorization: basic ‹dXNlcjpwYXNzd29yZA==›",
	"token scheme":             "authorization: token ‹" + made(hexes, 122, 40) + "›",
	"no scheme":                "Authorization: ‹" + made(hexes, 123, 40) + "›",
	"api-key header":           "api-key: ‹" + made(hexes, 124, 32) + "›",
	"x-api-key header":         "X-Api-Key: ‹" + made(base62, 125, 32) + "›",
	"other header":             "PRIVATE-TOKEN: ‹" + made(base62, 126, 20) + "›",
	"cookie":                   "Cookie: ‹session=abc123; theme=dark›\nHost: x",
	"cookie in a flag":         `curl -H 'Cookie: ‹sid=abc123; a=b›' https://x`,
	"set-cookie":               "Set-Cookie: sid=‹abc123def›; Path=/; HttpOnly",
	"connection string":        "Server=tcp:x,1433;User ID=bob;Password=‹hunter2›;Encrypt=True",
	"storage account":          "AccountName=x;AccountKey=‹" + made(base64s, 127, 86) + "==›;EndpointSuffix=core.windows.net",
	"service bus":              "SharedAccessKeyName=Root;SharedAccessKey=‹" + made(base64s, 128, 43) + "=›",
	"npmrc":                    "//registry.npmjs.org/:_authToken=‹" + made(base62, 129, 36) + "›",
	"docker config":            `{"auths":{"https://index.docker.io/v1/":{"auth":"‹` + made(base62, 130, 30) + `1==›"}}}`,
	"Kubernetes secret":        "data:\n  password: ‹aHVudGVyMg==›\n",
	"Kubernetes env":           "- name: DB_PASSWORD\n  value: ‹hunter2›\n",
	"Kubernetes env, quoted":   "- name: DB_PASSWORD\n  value: \"‹hunter2›\"\n",
	"ECS":                      `{"name": "DB_PASSWORD", "value": "‹hunter2›"}`,
	"describe":                 "      DB_PASSWORD:  ‹hunter2›\n",
	"SQL user":                 "CREATE USER bob WITH PASSWORD '‹hunter2›';",
	"SQL identified":           "CREATE USER bob IDENTIFIED BY '‹swordfish›';",
	"told":                     "my password is ‹hunter2›, do not tell",
	"told, quoted":             `the password is "‹swordfish›"`,
	"Markdown":                 "**Password:** ‹hunter2›",
	"Markdown, code":           "- Password: `‹hunter2›`",
	"prose, API key":           "API key: ‹" + made(base62, 131, 32) + "›",
	"prose, secret access key": "Secret access key: ‹" + made(base64s, 132, 40) + "›",
	"Chinese":                  "密码：‹hunter2›，请保密",
	"Japanese":                 "パスワード: ‹hunter2›",
	"Russian":                  "пароль: ‹hunter2›",
	"German":                   "Passwort: ‹geheim123›",
	"passphrase":               `passphrase: "‹correct horse battery staple›"`,
	"Slack webhook":            "https://hooks.slack.com/services/‹T" + made(upDigits, 133, 8) + "/B" + made(upDigits, 134, 8) + "/" + made(base62, 135, 24) + "›",
	"Discord webhook":          "https://discord.com/api/webhooks/‹" + made(digits, 136, 18) + "/" + made(urlBase, 137, 68) + "›",
	"Telegram URL":             "https://api.telegram.org/bot‹" + made(digits[1:], 138, 10) + ":AA" + made(urlBase, 139, 33) + "›/getMe",
	"PAT":                      "AZURE_DEVOPS_EXT_PAT=‹" + made(lowers+digits, 140, 52) + "›",
	"auth token":               "TWILIO_AUTH_TOKEN=‹" + made(hexes, 141, 32) + "›",
	"prompt":                   "AWS Secret Access Key [None]: ‹" + made(base64s, 142, 40) + "›\n",
	"sshpass":                  "sshpass -p ‹hunter2› ssh bob@h",
	"redis-cli":                "redis-cli -h x -a ‹hunter2› ping",
	"form":                     "user=bob&pass=‹hunter2›",
	"JSON, pass":               `{"user": "bob", "pass": "‹hunter2›"}`,
	"form body":                "username=bob&password=‹swordfish›&x=1",
	"JDBC":                     "jdbc:mysql://h/db?user=bob&password=‹hunter2›",
	"INI, spaced colon":        "password : ‹hunter2›",
	"cut string":               `{"password": "‹hunter2›`,
}

// split takes the marks out: the text, and what must come of it.
func split(marked string) (text, want string) {
	var b strings.Builder
	for rest := marked; ; {
		before, inside, ok := strings.Cut(rest, "‹")
		b.WriteString(before)
		if !ok {
			break
		}
		_, after, _ := strings.Cut(inside, "›")
		b.WriteString(redact.Mark)
		rest = after
	}
	return strings.NewReplacer("‹", "", "›", "").Replace(marked), b.String()
}

func TestGone(t *testing.T) {
	for name, marked := range gone {
		t.Run(name, func(t *testing.T) {
			text, want := split(marked)
			if got := redact.Text(text); got != want {
				t.Errorf("of %q\n got %q\nwant %q", text, got, want)
			}
		})
	}
}
