package tag

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/fips140"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
)

// Size is the length of a Tag in bytes.
const Size = 16

// Tag names a byte string. The zero Tag is the name of none.
type Tag [Size]byte

// Domain sets tags for different purposes apart. Two tags of the same bytes in
// different domains have nothing in common.
type Domain [12]byte

// Tagger makes tags; those of another one have nothing in common with its own.
type Tagger struct {
	key [16]byte
	gcm cipher.AEAD // nil: HMAC
}

// New makes a Tagger with a key that nobody knows.
func New() Tagger {
	var t Tagger
	_, _ = rand.Read(t.key[:]) // never fails, by its contract
	if fips140.Enforced() {
		return t
	}
	block, err := aes.NewCipher(t.key[:])
	if err != nil {
		panic("tag: " + err.Error()) // 16 bytes are a key
	}
	if t.gcm, err = cipher.NewGCM(block); err != nil {
		panic("tag: " + err.Error()) // AES has blocks of 16 bytes
	}
	return t
}

// Of is the tag of b in a domain.
func (t Tagger) Of(d Domain, b []byte) Tag {
	var out Tag
	t.Put(&out, d[:], b)
	return out
}

// Put is Of for who has a place for the tag, and the bytes of the domain, already:
// it allocates nothing.
func (t Tagger) Put(out *Tag, domain, b []byte) {
	domain = domain[:len(Domain{})]
	if t.gcm == nil {
		h := hmac.New(sha256.New, t.key[:])
		h.Write(domain)
		h.Write(b)
		copy(out[:], h.Sum(nil))
		return
	}
	t.gcm.Seal(out[:0], domain, nil, b)
}
