package redact_test

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/redact"
)

// block is a private key's block of so many lines.
func block(label string, seed, lines int) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + label + "-----\n")
	for i := range lines {
		b.WriteString(made(base64s, seed+i, 64) + "\n")
	}
	b.WriteString(made(base64s, seed+lines, 20) + "1Q==\n-----END " + label + "-----")
	return b.String()
}

func TestPrivateKey(t *testing.T) {
	const label = "RSA PRIVATE KEY"
	key := block(label, 300, 12)
	encrypted := strings.Replace(key, "-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011223344556677\n\n", 1)
	escape := strings.NewReplacer("\n", `\n`)
	tests := map[string]struct{ text, want string }{
		"alone":                  {key, "[redacted]"},
		"PKCS 8":                 {block("PRIVATE KEY", 320, 20), "[redacted]"},
		"OpenSSH":                {block("OPENSSH PRIVATE KEY", 340, 7), "[redacted]"},
		"OpenPGP":                {block("PGP PRIVATE KEY BLOCK", 360, 40), "[redacted]"},
		"encrypted":              {encrypted, "[redacted]"},
		"in a text":              {"key:\n" + key + "\nuser: bob", "key:\n[redacted]\nuser: bob"},
		"indented":               {"  key: |\n    " + strings.ReplaceAll(key, "\n", "\n    ") + "\n  x: 1", "  key: |\n    [redacted]\n  x: 1"},
		"CRLF":                   {strings.ReplaceAll(key, "\n", "\r\n") + "\r\nx", "[redacted]\r\nx"},
		"two":                    {key + "\n" + block(label, 400, 3) + "\n", "[redacted]\n[redacted]\n"},
		"behind a certificate":   {"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n" + key, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n[redacted]"},
		"in a string":            {`{"private_key": "` + escape.Replace(key) + `\n", "x": 1}`, `{"private_key": "[redacted]\n", "x": 1}`},
		"in a string, twice":     {`\"k\": \"` + strings.ReplaceAll(key, "\n", `\\n`) + `\"`, `\"k\": \"[redacted]\"`},
		"on one line":            {"KEY=" + strings.ReplaceAll(key, "\n", " ") + " x", "KEY=[redacted] x"},
		"without an end":         {"a\n" + key[:len(key)-40], "a\n[redacted]"},
		"cut within a line":      {key[:200], "[redacted]"},
		"cut within the first":   {key[:len("-----BEGIN "+label+"-----\n")+30], "[redacted]"},
		"without an end, prose":  {key[:300] + "\nThe quick brown fox", "[redacted]\nThe quick brown fox"},
		"without a begin":        {key[100:] + "\nnext", "[redacted]\nnext"},
		"without a begin, prose": {"The quick brown fox\n" + key[97:], "The quick brown fox\n[redacted]"},
		"shortened in between":   {key[:230] + "\n... (9 lines)\n" + key[len(key)-80:], "[redacted]"},
		"quoted lines in code":   {`k = "` + strings.ReplaceAll(key, "\n", "\\n\"\n    \"") + `"`, `k = "[redacted]"`},
		"no body":                {"-----BEGIN PRIVATE KEY-----\n\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n\n-----END PRIVATE KEY-----"},
		"an ellipsis":            {"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"},
		"a certificate":          {block("CERTIFICATE", 500, 5), block("CERTIFICATE", 500, 5)},
		"more dashes":            {"---" + key + "---", "---[redacted]---"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := redact.Text(tt.text); got != tt.want {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}
