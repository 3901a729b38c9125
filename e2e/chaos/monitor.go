package main

import (
	"bufio"
	"context"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// monitor reads every command that the server runs, in the order in which it runs
// them, and judges each write by what was written before it: who commits must be
// the owner, and must work.
type monitor struct {
	addr   string
	ledger *atomic.Pointer[ledger]
	hashes map[string]map[string]string // by name, as far as it was seen being written
	ready  chan struct{}                // closed when the first connection listens
	once   bool
}

func newMonitor(addr string, at *atomic.Pointer[ledger]) *monitor {
	return &monitor{addr: addr, ledger: at, hashes: map[string]map[string]string{}, ready: make(chan struct{})}
}

// watch reads until ctx ends. When the server goes away it begins anew, since what
// was missed cannot be known: commits of owners that were not seen are not judged.
func (m *monitor) watch(ctx context.Context) {
	for ctx.Err() == nil {
		m.listen(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (m *monitor) listen(ctx context.Context) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", m.addr)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	clear(m.hashes)
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		return
	}
	lines := bufio.NewReaderSize(conn, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if !m.once && line == "+OK\r\n" {
			m.once = true
			close(m.ready)
		}
		if command, source := parseMonitor(line); len(command) > 1 {
			m.take(command, source)
		}
	}
}

// parseMonitor takes a line apart: +time [db source] "command" "argument" ...
func parseMonitor(line string) (command []string, source string) {
	_, rest, ok := strings.Cut(line, "[")
	if !ok {
		return nil, ""
	}
	inside, rest, ok := strings.Cut(rest, "] ")
	if !ok {
		return nil, ""
	}
	_, source, _ = strings.Cut(inside, " ")
	if !strings.HasPrefix(rest, `"HSET" "foldgate`) && !strings.HasPrefix(rest, `"HDEL" "foldgate`) &&
		!strings.HasPrefix(rest, `"DEL"`) && !strings.HasPrefix(rest, `"FLUSH`) {
		return nil, "" // reads, times to live, and the calls of the scripts themselves
	}
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, ""
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, ""
		}
		command = append(command, text)
		rest = rest[len(quoted):]
	}
	return command, source
}

func (m *monitor) take(command []string, source string) {
	name := command[1]
	switch command[0] {
	case "HSET":
		if !strings.HasSuffix(name, ":conversation") {
			return
		}
		if source != "lua" {
			m.ledger.Load().breaches("%s is written past the scripts, by %s", name, source)
		}
		m.write(name, command[2:])
	case "HDEL":
		for _, field := range command[2:] {
			delete(m.hashes[name], field)
		}
	case "DEL":
		delete(m.hashes, name)
	default:
		clear(m.hashes)
	}
}

func (m *monitor) write(name string, pairs []string) {
	led := m.ledger.Load()
	have := m.hashes[name]
	set := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
	}
	owner, claimed := set["owner"]
	before, known := have["owner"]
	if claimed && known && number(owner) <= number(before) {
		led.breaches("%s: owner %s after %s", name, owner, before)
	}
	if set["phase"] == "committed" {
		m.commit(led, name, have, set)
	}
	for field := range set {
		if fence, ok := strings.CutPrefix(field, "handoff:"); ok && known && fence != before {
			led.breaches("%s: a handoff of %s while the owner was %s", name, fence, before)
		}
	}
	if have == nil {
		have = map[string]string{}
		m.hashes[name] = have
	}
	for field, value := range set {
		have[field] = value
	}
}

// commit judges a write that publishes a checkpoint.
func (m *monitor) commit(led *ledger, name string, have, set map[string]string) {
	owner, known := have["owner"]
	if !known {
		return // the claim was before this monitor
	}
	fence, _, _ := strings.Cut(set["checkpoints"], " ")
	switch {
	case fence != owner:
		led.breaches("%s: a commit of %s while the owner was %s", name, fence, owner)
	case have["phase"] != "working":
		led.breaches("%s: a commit of %s in phase %s", name, fence, have["phase"])
	case have["cancel"] != "":
		led.breaches("%s: a commit of %s after its flag was raised", name, fence)
	default:
		led.judgedCommit()
	}
}
