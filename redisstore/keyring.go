package redisstore

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const (
	// storeKeySize is that of AES-256, in bytes.
	storeKeySize = 32
	// maxKeyID bounds a key's id: its length is one byte of what is stored.
	maxKeyID = 32
	// plainWord stands among the keys for handoffs that are not encrypted.
	plainWord = "plain"
)

// Keys encrypt handoffs in the store. Nil, and what ParseKeys makes of "plain"
// alone, encrypt nothing and open nothing that is encrypted. Keys do not change
// once made, so they are safe for concurrent use.
type Keys struct {
	write *storeKey // nil: what is written is not encrypted
	read  map[string]*storeKey
	plain bool // what is not encrypted is read too
}

// storeKey is one key. A key of its own is derived from it for each conversation.
type storeKey struct {
	id     string
	secret []byte
}

// ParseKeys reads a list of keys, separated by line breaks, commas or spaces; a #
// begins a comment, which ends with its line:
//
//	2026-12=<32 bytes, in base64 or as 64 hexadecimal digits>
//	2026-06=<the key before it>
//	plain
//
// The first one encrypts what is written, all of them open what is read. An id is 1
// to 32 letters, digits, '-', '_', '.'; it is stored beside each handoff. The word
// plain stands for handoffs that are not encrypted: where it is first, none is; where
// it is missing, one that is not encrypted is not used, so that nobody who can only
// write to the store can put one there.
//
// All problems are reported at once, by the place in the list; none of them repeats
// a key.
func ParseKeys(list string) (*Keys, error) {
	k := &Keys{read: map[string]*storeKey{}}
	var problems []error
	place := 0
	for line := range strings.Lines(list) {
		line, _, _ = strings.Cut(line, "#")
		for entry := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ',' || r <= ' ' }) {
			place++
			if err := k.add(entry, place == 1); err != nil {
				problems = append(problems, fmt.Errorf("store keys: entry %d: %w", place, err))
			}
		}
	}
	if place == 0 {
		problems = append(problems, errors.New("store keys: none: write id=key"))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return k, nil
}

// CheckKeys reports everything that is wrong with a list of keys, nil if ParseKeys
// takes it.
func CheckKeys(list string) error {
	_, err := ParseKeys(list)
	return err
}

func (k *Keys) add(entry string, first bool) error {
	if entry == plainWord {
		if k.plain {
			return errors.New("plain stands there twice")
		}
		k.plain = true
		return nil
	}
	id, text, ok := strings.Cut(entry, "=")
	switch {
	case !ok:
		return errors.New("no id: write id=key, or plain")
	case !keyID(id):
		return fmt.Errorf("the id: 1 to %d letters, digits, '-', '_', '.', and not plain", maxKeyID)
	case k.read[id] != nil:
		return errors.New("the id stands before another key too")
	}
	secret, err := decodeKey(text)
	if err != nil {
		return err
	}
	k.read[id] = &storeKey{id: id, secret: secret}
	if first {
		k.write = k.read[id]
	}
	return nil
}

func keyID(s string) bool {
	if s == "" || len(s) > maxKeyID || s == plainWord {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}

// decodeKey takes both forms in which tools write 32 bytes; their lengths differ.
func decodeKey(text string) ([]byte, error) {
	var secret []byte
	var err error
	if len(text) == hex.EncodedLen(storeKeySize) {
		secret, err = hex.DecodeString(text)
	} else {
		text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
		secret, err = base64.RawStdEncoding.DecodeString(text)
	}
	if err != nil || len(secret) != storeKeySize {
		// The error of a decoder would repeat a part of the key.
		return nil, fmt.Errorf("the key: %d bytes, in base64 or as %d hexadecimal digits", storeKeySize, hex.EncodedLen(storeKeySize))
	}
	return secret, nil
}
