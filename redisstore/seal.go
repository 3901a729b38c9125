package redisstore

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/foldgate/foldgate/ownership"
)

// A sealed handoff is
//
//	mark, length of the key's id (1 byte), key's id, nonce (12), AES-256-GCM, tag (16)
//
// under a key that is derived for its conversation, so that the bound on random
// nonces (2^32 for one key) is one of a conversation. What is authenticated with it
// says where it belongs: conversation, fence, and what it covers. So it cannot be
// moved to another conversation, put under another checkpoint, or said to stand for
// other messages, by somebody who can write to the store.
const (
	// sealMark begins every sealed handoff. A text never begins with a zero byte.
	sealMark = "\x00fgseal1"
	// sealPurpose separates these keys, and what is authenticated, from any other use
	// of the same secret.
	sealPurpose = "foldgate handoff 1"
)

// Reasons why a handoff could not be opened.
var (
	errNoKey    = errors.New("its key is not among the store's keys")
	errBroken   = errors.New("it is broken, or not the one that was written there")
	errNotPlain = errors.New("it is not encrypted, and the store's keys do not say plain")
)

// errUnopened stands for any of them where the reason was told already.
var errUnopened = errors.New("its handoff cannot be opened")

// slot is where a handoff belongs.
type slot struct {
	key    ownership.Key
	fence  ownership.Fence
	target ownership.Target
}

// sealed is the handoff as it is stored.
func (k *Keys) sealed(handoff []byte, at slot) ([]byte, error) {
	if k == nil || k.write == nil {
		return handoff, nil
	}
	c, err := k.write.cipher(at.key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(sealMark)+1+len(k.write.id)+len(handoff)+c.Overhead())
	out = append(out, sealMark...)
	out = append(out, byte(len(k.write.id)))
	out = append(out, k.write.id...)
	return c.Seal(out, nil, handoff, at.authenticated()), nil // #nosec G407 -- no nonce is passed: the cipher makes one for each handoff
}

// opened is the handoff behind what is stored. The error is one of the reasons
// above; id names the key that it asks for, if it names one.
func (k *Keys) opened(stored []byte, at slot) (handoff []byte, id string, err error) {
	rest, isSealed := bytes.CutPrefix(stored, []byte(sealMark))
	switch {
	case !isSealed && (k == nil || k.plain):
		return stored, "", nil
	case !isSealed:
		return nil, "", errNotPlain
	case len(rest) == 0 || len(rest) < 1+int(rest[0]) || !keyID(string(rest[1:1+int(rest[0])])):
		return nil, "", errBroken
	}
	id, rest = string(rest[1:1+int(rest[0])]), rest[1+int(rest[0]):]
	if k == nil || k.read[id] == nil {
		return nil, id, errNoKey
	}
	c, err := k.read[id].cipher(at.key)
	if err == nil {
		handoff, err = c.Open(nil, nil, rest, at.authenticated())
	}
	if err != nil || len(handoff) == 0 {
		return nil, id, errBroken
	}
	return handoff, id, nil
}

// cipher is that of a conversation. It makes its nonces itself.
func (s *storeKey) cipher(key ownership.Key) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, s.secret, nil, sealPurpose+"\x00"+string(key), storeKeySize)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// authenticated says where a handoff belongs. No part but the last has a variable
// length that is not written before it.
func (at slot) authenticated() []byte {
	fence := at.fence.String()
	out := make([]byte, 0, len(sealPurpose)+len(at.key)+len(fence)+3*8+len(at.target.Digest))
	for _, part := range [...]string{sealPurpose, string(at.key), fence} {
		out = binary.BigEndian.AppendUint64(out, uint64(len(part)))
		out = append(out, part...)
	}
	out = binary.BigEndian.AppendUint64(out, uint64(at.target.Covered))
	return append(out, at.target.Digest[:]...)
}
