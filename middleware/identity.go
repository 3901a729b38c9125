package middleware

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"net/http"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/ownership"
)

// fixedLabel keys the hash of credentials where no secret is configured, so
// that replicas without one still agree.
const fixedLabel = "foldgate tenant, no secret configured"

// credentialHeaders are what tells callers apart, in the order in which they
// are hashed.
var credentialHeaders = [...]string{"Authorization", "Api-Key", "X-Api-Key"}

// tenancy names tenants.
type tenancy struct {
	header string
	secret []byte
}

func newTenancy(header string, secret []byte) tenancy {
	if len(secret) == 0 {
		secret = []byte(fixedLabel)
	}
	return tenancy{header: header, secret: secret}
}

// of is the tenant of a request: 32 bytes that only the same credential (or the
// same value of the tenant header) gives again. No credential is a tenant too.
func (t tenancy) of(h http.Header) string {
	mac := hmac.New(sha256.New, t.secret)
	if t.header != "" {
		if v := h.Values(t.header); len(v) > 0 {
			writeField(mac, "tenant header")
			writeFields(mac, v)
			return string(mac.Sum(nil))
		}
	}
	for _, name := range credentialHeaders {
		if v := h.Values(name); len(v) > 0 {
			writeField(mac, name)
			writeFields(mac, v)
		}
	}
	return string(mac.Sum(nil))
}

// anchorKey groups the requests of one conversation that gives no id.
func anchorKey(tenant string, anchor chat.Digest) ownership.Key {
	return makeKey(tenant, "anchor", string(anchor[:]))
}

// idKey groups the requests that carry the same Foldgate-Conversation.
func idKey(tenant, id string) ownership.Key { return makeKey(tenant, "id", id) }

func makeKey(tenant, kind, value string) ownership.Key {
	h := sha256.New()
	for _, s := range [...]string{"foldgate conversation", tenant, kind, value} {
		writeField(h, s)
	}
	return ownership.Key(hex.EncodeToString(h.Sum(nil)[:20]))
}

// writeField writes a length before the text, so that no two lists of fields
// give the same bytes.
func writeField(h hash.Hash, s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	h.Write([]byte(s))
}

func writeFields(h hash.Hash, values []string) {
	for _, v := range values {
		writeField(h, v)
	}
}
