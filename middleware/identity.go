package middleware

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"net/http"
	"sync"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/ownership"
)

// fixedLabel keys the hash of credentials where no secret is configured, so
// that replicas without one still agree.
const fixedLabel = "foldgate tenant, no secret configured"

// credentialHeaders are what tells callers apart, in the order in which they
// are hashed.
var credentialHeaders = [...]string{"Authorization", "Api-Key", "X-Api-Key"}

// tenancy names tenants. Safe for concurrent use.
type tenancy struct {
	header string // canonical, or empty
	macs   *sync.Pool
}

// tenantMAC is what naming a tenant needs: a keyed hash, which is dear to make, and
// room for what is hashed. Nothing of a credential stays in either.
type tenantMAC struct {
	hash.Hash
	text []byte
}

// maxTenantText is the longest text, in bytes, whose room is kept for the next one.
const maxTenantText = 8 << 10

func newTenancy(header string, secret []byte) tenancy {
	if len(secret) == 0 {
		secret = []byte(fixedLabel)
	}
	fresh := func() any { return &tenantMAC{Hash: hmac.New(sha256.New, secret)} }
	return tenancy{header: http.CanonicalHeaderKey(header), macs: &sync.Pool{New: fresh}}
}

// of is the tenant of a request: 32 bytes that only the same credential (or the
// same value of the tenant header) gives again. No credential is a tenant too.
func (t tenancy) of(h http.Header) string {
	mac := t.macs.Get().(*tenantMAC) //nolint:errcheck // nothing else is in the pool
	defer func() {
		mac.Reset()
		clear(mac.text)
		if cap(mac.text) > maxTenantText {
			mac.text = nil
		}
		t.macs.Put(mac)
	}()
	mac.text = t.identity(mac.text[:0], h)
	mac.Write(mac.text)
	var sum [sha256.Size]byte
	return string(mac.Sum(sum[:0]))
}

// identity appends what of a request is hashed.
func (t tenancy) identity(b []byte, h http.Header) []byte {
	if v := h[t.header]; t.header != "" && len(v) > 0 {
		return appendFields(appendField(b, "tenant header"), v)
	}
	for _, name := range credentialHeaders {
		if v := h[name]; len(v) > 0 {
			b = appendFields(appendField(b, name), v)
		}
	}
	return b
}

// anchorKey groups the requests of one conversation that gives no id.
func anchorKey(tenant string, anchor chat.Digest) ownership.Key {
	return makeKey(tenant, "anchor", string(anchor[:]))
}

// idKey groups the requests that carry the same Foldgate-Conversation.
func idKey(tenant, id string) ownership.Key { return makeKey(tenant, "id", id) }

func makeKey(tenant, kind, value string) ownership.Key {
	var b []byte
	for _, s := range [...]string{"foldgate conversation", tenant, kind, value} {
		b = appendField(b, s)
	}
	sum := sha256.Sum256(b)
	return ownership.Key(hex.EncodeToString(sum[:20]))
}

// appendField writes a length before the text, so that no two lists of fields
// give the same bytes.
func appendField(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}

func appendFields(b []byte, values []string) []byte {
	for _, v := range values {
		b = appendField(b, v)
	}
	return b
}

// writeField is appendField for text that need not be copied together.
func writeField(h hash.Hash, s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	h.Write([]byte(s))
}
