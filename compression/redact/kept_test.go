package redact_test

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/redact"
)

// kept are texts of which nothing may go: later turns need it, or it is no
// secret. The list is longer than that of what goes, on purpose.
var kept = []string{
	// Identifiers.
	"commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
	"git show 9fceb02 -- main.go",
	"index 83db48f..bf269f4 100644",
	"sha256:" + made(hexes, 201, 64),
	"docker run nginx@sha256:" + made(hexes, 202, 64),
	"container " + made(hexes, 203, 12) + " exited with 137",
	"550e8400-e29b-41d4-a716-446655440000",
	`{"id": "550e8400-e29b-41d4-a716-446655440000", "session_id": "1b4e28ba-2fa1-11d2-883f-0016d3cca427"}`,
	"order #W2378156 of 2024-05-15",
	"request_id=req_011CSHoEeqs5C35K2UUqR7Fy",
	"trace_id: 4bf92f3577b34da6a3ce929d0e0e4736, span_id: 00f067aa0ba902b7",
	"etag: \"33a64df551425fcc55e4d42a148795d9f25f89d4\"",
	"md5 d41d8cd98f00b204e9800998ecf8427e",
	"call_id: call_" + made(base62, 204, 24),
	"chatcmpl-" + made(base62, 205, 29),
	"msg_" + made(base62, 206, 24) + " run_" + made(base62, 207, 24) + " file-" + made(base62, 208, 24),
	"pod web-6d5c7f8b9-x2x4z is Running",
	"serviceaccount default-token-x7k2p",
	"arn:aws:iam::123456789012:role/deploy",
	"arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
	"AccountSid AC" + made(hexes, 209, 32),
	"i-0abcd1234efgh5678 in vpc-1a2b3c4d",
	"IBAN DE89370400440532013000, order 4711",
	"+49 30 901820, 10115 Berlin",
	"192.168.10.17:5432 and [2001:db8::1]:443",
	"ISBN 978-3-16-148410-0",
	"file " + made(urlBase, 210, 43) + ".png",
	"data:image/png;base64,iVBORw0KGgo" + made(base64s, 211, 400),
	"eyJ" + made(urlBase, 212, 60), // a JSON object in base64, perhaps a cursor
	"eyJmb28uanNvbg.tar.gz",        // a file
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + made(base64s, 213, 43) + " bob@host",
	"-----BEGIN CERTIFICATE-----\n" + made(base64s, 214, 64) + "\n-----END CERTIFICATE-----",
	"-----BEGIN PUBLIC KEY-----\n" + made(base64s, 215, 64) + "\n-----END PUBLIC KEY-----",
	"caData: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t" + made(base62, 216, 60),
	"integrity sha512-" + made(base64s, 217, 86) + "==",
	"h1:" + made(base64s, 218, 43) + "= go.sum",

	// Counts, limits, sizes.
	"token_count=123", "max_tokens: 4096", "max_completion_tokens: 1024", `"total_tokens": 81234`,
	"tokens: 128000", "num_tokens = 512", "token: 5", "prompt_tokens=1200", "TOKENS=4096", "MAX_TOKENS=4096",
	"password_length: 12", "password_min_length=8", "PASSWORD_MIN_LENGTH=12", "secret_count = 3", "api_key_id: 42",
	"passed: 12, failed: 3", "pass: 12", "tests_pass: 128", "first_pass: 2024", "bypass=true",
	"key: value", "cache_key: user:1234:profile", "primary_key: order_20240515x17", "sort_key=2024-05-15T10:00:00Z",
	"idempotency_key: 8f14e45f-ceea-467f-a0e6-1f4d0b7f2c3a", "foreign_key = orders.user_id1a2b3c",
	"public_key: " + made(hexes, 219, 64), "key_id: " + made(hexes, 220, 16), "KeyName=prod-eu-1",
	"next_page_token: " + made(base62, 221, 40), `"nextPageToken": "` + made(base62, 222, 40) + `"`,
	`"NextToken": "` + made(base62, 223, 40) + `"`, "continuation_token=" + made(base62, 224, 40),
	"ClientToken: " + made(hexes, 225, 32),

	"--- PASS: TestFold2 (0.00s)", "pass: TestFold2", "pass=12", `{"pass": 12, "fail": 0}`, "tests [pass]: 3of4", "ssh -p 2222 bob@h", "ls -a dir1",
	"docker run -u 1000:1000 -p 8080:80 img1", "AWS Access Key ID [None]: none", "array[token]: 5",

	// Types and schemas.
	"password: string", "password: string;", "password: str", "password?: string", "password: Optional[str] = None",
	"password: SecretStr", "password string", "Password string `json:\"password\"`", "password VARCHAR(255) NOT NULL",
	`"password": {"type": "string", "minLength": 8}`, `"required": ["user", "password"]`, `{"type": "password"}`,
	`"password": "string"`, `"token": "string"`, `"api_key": null`, `"secret": true`, `"password": ""`, "password:", "password=",
	"token: Token", "token: Token,", "type Token struct { Kind Kind }", "secret: Secret<string>",
	"--password string   password of the database user", "--password-file path", "--token string", "--api-key flag is deprecated",
	"<input type=\"password\" name=\"password\" placeholder=\"Password\">",
	"api_key: Mapped[str]", "secrets: inherit", "secret: optional",

	// Code.
	"secret = getSecret()", "token = token", "token := next()", "token.Text", "token.Type == scanner.EOF",
	"password = os.environ['DB_PASSWORD']", "password = os.getenv(\"DB_PASSWORD\")", "password=password", "password=args.password,",
	"const apiKey = await getApiKeyForModel(model);", "apiKey: process.env.API_KEY", "apiKey: apiKey2,", "api_key=settings.OPENAI_API_KEY",
	"this.password = password;", "self._token = token1", "password = user.password2", "if password != confirm_password:",
	"password = input('Password: ')", "getpass.getpass(\"Password: \")", "fmt.Println(\"token:\", tok)", `log.Printf("token=%s", t)`,
	"\"password=\" + pw + \"&user=\"", "`Bearer ${token}`", "f\"Bearer {token}\"", "'Authorization': 'Bearer ' + token",
	"headers[\"Authorization\"] = \"Bearer \" + token", "req.Header.Set(\"Authorization\", \"Bearer \"+key)",
	"Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "Authorization: Bearer YOUR_API_KEY", "Authorization: required",
	"private_key = load_key(path)", "PrivateKey: testRSA2048PrivateKey,", "rsaPrivateKey = test1024Key", "token = uuid4()", "var secret []byte", "secret, err := read()",
	"token = self.tokens[self.pos]", "token_type: bearer", "tokenizer = AutoTokenizer", "eos_token=\"</s>\"", "pad_token: <|endoftext|>",
	"cookie = name + \"=\" + value", "Cookie: string", "cookies: {}", "document.cookie.split(';')",
	"strings.Contains(s, \"-----BEGIN PRIVATE KEY-----\")", "-----BEGIN RSA PRIVATE KEY----- and -----END RSA PRIVATE KEY-----",
	"password === undefined", "password || ''", "!password && token", "pwd = os.getcwd()", "api_key: str = Field(...)",
	"class PasswordReset:", "func (t Token) String() string", "PASSWORD_HASHERS = [", "switch token {", "case token:",
	"token: ${{ secrets.GITHUB_TOKEN }}", "password: {{ .Values.db.password }}", "password: ${DB_PASSWORD}", "password: $DB_PASSWORD",
	"password: !vault |", "token: !Ref Token", "password: <%= ENV['PW'] %>", "PASSWORD=$(cat /run/secrets/db)", "PASSWORD=\"$1\"", "PASSWORD=%DB_PASS%",

	// Names, paths, references.
	"secretName: my-secret", "secretName: web-tls-2", "secret: my-app-secret", "secret: app-tls", "secretKeyRef:", "name: db-secret-v2",
	"key: password", "tokenSecret: default-token", "imagePullSecrets:\n- name: regcred", "kind: Secret", "type: Opaque",
	"--docker-password=<pass>", "password_file: /run/secrets/db", "token: /var/run/secrets/kubernetes.io/serviceaccount/token",
	"PWD=/home/bob/project", "OLDPWD=/tmp", "pwd: /root", "cd $PWD", "password_field: login1",
	"DEPLOY_ENV=production", "NODE_ENV=development", "REGION=eu-west-1", "IMAGE=nginx:1.27.3", "VERSION=v2.14.0-rc1",
	"- name: DEPLOY_ENV\n  value: production2024", "- name: LOG_LEVEL\n  value: debug",
	"passwd:         compat", "sshd: Accepted publickey for bob", "signature=v1", "sig=int", "sk-learn-contrib", "sk-fading-circle sk-circle12",
	"task-sk-1", "npm_config_registry", "npm_lifecycle_event", "hf_hub_download", "ghp_", "AKIA", "xoxb-", "SG.", "glpat-xxxx", "AIza...",
	"sk-...", "sk-xxxx", "sk-your-key-here", "OPENAI_API_KEY=sk-...", "OPENAI_API_KEY=your_openai_api_key", "API_KEY=<key>", "API_KEY=xxx",
	"API_KEY=\"ragflow-xxx\"", "password: ********", "password=***", "token: [redacted]", "password: [redacted]", "password=[redacted]&x=1",
	"password: REDACTED", "https://REDACTED:REDACTED@x/", "https://u:[redacted]@x/", "https://u:${PASS}@x/", "https://$U:$P@x/", "https://u:<pass>@x/",

	// URLs without a password.
	"http://localhost:8080/a@b", "http://host:8080", "https://bob@host/x", "ssh://git@host:22/x", "git@github.com:org/repo.git",
	"https://x/y?page=2&token_type=a", "https://x/y?key=abc&id=42", "mailto:bob@x.org", "see http://a:b and mail bob@x.org",
	"https://hooks.slack.com/docs", "https://discord.com/api/webhooks",

	// Sentences.
	"the password is required", "The password is incorrect.", "password is bcrypt2 hashed", "the password is base64-encoded",
	"Password: at least 8 characters", "password: 8-20 characters", "password: must contain a digit", "Password: incorrect", "invalid token: unexpected EOF",
	"unexpected token: '}'", "token: comma", "forgot password? reset it", "a secret: nobody knows", "Bearer token missing", "bearer tokens are strings",
	"Authorization: see below", "authorization failed: pull access denied", "Cookie: we use cookies", "the access key: see the wiki", "my password manager is pass",
	"secret santa: 24 people", "the token = a word", "key: C minor", "pass: the salt", "API key: none", "password:\tnone", "用户密码：必填", "密码：不能为空",
	"the user's password has 12 characters and the token 40", "tokens per second: 85.3", "Two-token rule=ok", "secret=no", "token=eof", "passwords: 3",
}

func TestKept(t *testing.T) {
	for _, text := range kept {
		if got := redact.Text(text); got != text {
			t.Errorf("of %q\n got %q", text, got)
		}
	}
	if len(kept) < len(gone) {
		t.Errorf("%d texts are kept, %d go", len(kept), len(gone))
	}
}

// TestKeptTogether: what stays alone stays in one text too, quoted or escaped.
func TestKeptTogether(t *testing.T) {
	for _, joint := range []string{"\n", " \n\n", `\n`} {
		text := strings.Join(kept, joint)
		if joint == `\n` {
			text = strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "\n", `\n`)
		}
		if got := redact.Text(text); got != text {
			t.Errorf("joined by %q: got %s", joint, difference(text, got))
		}
	}
}

// difference shows where two texts part.
func difference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-60):min(len(a), i+60)] + " → " + b[max(0, i-60):min(len(b), i+60)]
}
