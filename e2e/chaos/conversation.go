package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
)

// secret is FOLDGATE_TENANT_SECRET of every replica. With it the auditor makes
// the keys of conversations by itself.
const secret = "chaos"

// Turns of a conversation, against a window of 4000 tokens. A turn has some 95.
const (
	smallTurns    = 2
	preparedTurns = 26 // over the trigger, and it fits
	oversizeTurns = 46 // does not fit
	anchorTurns   = 12 // what a key is made of is complete
)

// conversation is one of a tenant's. What it says is a function of its numbers, so
// that everybody here can tell what a request must have said, and each message
// carries its mark, so that a word in the wrong place is seen.
type conversation struct {
	tenant, id int
	named      bool // sends Foldgate-Conversation
}

func (c *conversation) mark() string { return fmt.Sprintf("mk-t%d-c%d-", c.tenant, c.id) }

func (c *conversation) credential() string { return fmt.Sprintf("Bearer tenant-%d", c.tenant) }

func (c *conversation) name() string { return fmt.Sprintf("conversation-%d", c.id) }

// anyMark finds marks in any text.
var anyMark = regexp.MustCompile(`mk-t\d+-c\d+-`)

// foreign answers the first mark in text that is not this one; empty: there is none.
func foreign(text, mark string) string {
	for _, m := range anyMark.FindAllString(text, -1) {
		if m != mark {
			return m
		}
	}
	return ""
}

// body is the request of the conversation's turn of that number. One with more
// turns begins with the messages of one with fewer.
func (c *conversation) body(turns int, stream bool) []byte {
	var b strings.Builder
	b.Grow(turns * 600)
	b.WriteString(`{"model":"scripted","stream":` + strconv.FormatBool(stream) + `,"messages":[{"role":"system","content":"` + c.mark() + ` Be careful."}`)
	for i := range turns {
		if i > 0 {
			fmt.Fprintf(&b, `,{"role":"assistant","content":"%s answer %d: %s"}`, c.mark(), i, strings.Repeat("echo foxtrot golf hotel ", 8))
		}
		fmt.Fprintf(&b, `,{"role":"user","content":"%s question %d: %s"}`, c.mark(), i+1, strings.Repeat("alpha bravo charlie delta ", 8))
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// lastQuestion is how the last user message of such a request begins.
func (c *conversation) lastQuestion(turns int) string {
	return fmt.Sprintf("%s question %d: ", c.mark(), turns)
}

// view reads a request as the product's own library does: what it says of digests
// is the specification that the store is held against.
func (c *conversation) view(turns int) (*compression.View, error) {
	raw := c.body(turns, false)
	envelope, err := chat.ReadEnvelope(raw)
	if err != nil {
		return nil, fmt.Errorf("read a request of ours: %w", err)
	}
	request, err := chat.Parse(raw, envelope)
	if err != nil {
		return nil, fmt.Errorf("read a request of ours: %w", err)
	}
	return compression.NewMemo(1 << 10).View(request), nil
}

// digest is what a checkpoint of the first covered messages must carry.
func (c *conversation) digest(covered int) (string, error) {
	v, err := c.view(covered/2 + 1)
	if err != nil {
		return "", err
	}
	if v.Len() < covered {
		return "", fmt.Errorf("%d messages covered, %d made", covered, v.Len())
	}
	d := v.Chain(covered)
	return hex.EncodeToString(d[:]), nil
}

// key is section 3.3 of the contract, written a second time.
func (c *conversation) key(turns int) (string, error) {
	mac := hmac.New(sha256.New, []byte(secret))
	field(mac, "Authorization")
	field(mac, c.credential())
	tenant := string(mac.Sum(nil))
	kind, value := "id", c.name()
	if !c.named {
		v, err := c.view(min(turns, anchorTurns))
		if err != nil {
			return "", err
		}
		anchor := v.Anchor()
		kind, value = "anchor", string(anchor[:])
	}
	h := sha256.New()
	for _, s := range []string{"foldgate conversation", tenant, kind, value} {
		field(h, s)
	}
	return hex.EncodeToString(h.Sum(nil)[:20]), nil
}

func field(h hash.Hash, s string) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
	h.Write([]byte(s))
}

// registry knows every conversation that may be in the store, by its key.
type registry struct {
	mu    sync.Mutex
	next  int
	byKey map[string]*conversation
}

func newRegistry() *registry { return &registry{byKey: map[string]*conversation{}} }

// make begins a conversation of that tenant.
func (r *registry) make(tenant int) *conversation {
	r.mu.Lock()
	r.next++
	c := &conversation{tenant: tenant, id: r.next, named: r.next%2 == 0}
	r.mu.Unlock()
	key, err := c.key(anchorTurns)
	if err != nil {
		panic(err) // a body of ours that cannot be read
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byKey[key] = c
	return c
}

func (r *registry) find(key string) *conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byKey[key]
}
