package middleware

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// In all tests of this package memory that is given back is overwritten at once:
// whoever still looks at it sees no body.
func init() {
	poison := bytes.Repeat([]byte{0xDB}, mostSlab)
	scrub = func(b []byte) { copy(b, poison) } // byte by byte it takes seconds under the race detector
}

// TestSlabSize: the room that was asked for, at most a quarter more, and the same
// class for the same size only.
func TestSlabSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 2*mostSlab).Draw(t, "n")
		size, class := slabSize(n)
		if n < leastSlab || n > mostSlab {
			if size != n || class != -1 {
				t.Fatalf("%d bytes, class %d", size, class)
			}
			return
		}
		if size < n || size > n+n/4 || class < 0 || class >= slabClasses {
			t.Fatalf("%d bytes of class %d", size, class)
		}
		if again, same := slabSize(size); again != size || same != class {
			t.Fatalf("%d bytes of class %d, and %d of class %d for as many", size, class, again, same)
		}
	})
}

// TestNothingIsLentAfterTheEnd: whoever asks for the body of a request that is over
// gets none, also when its memory is another request's by then.
func TestNothingIsLentAfterTheEnd(t *testing.T) {
	over := newSlab(leastSlab)
	over.drop()
	for range 20 { // a pool may forget what it was given
		next := newSlab(leastSlab)
		if b, err := over.lend(); err == nil {
			t.Fatalf("lent: %v", b)
		}
		next.drop()
	}
}

// TestLentBody: a body is what it was until it is closed, and nothing afterwards;
// its memory is given back when the last of its users is gone.
func TestLentBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := bytes.Repeat([]byte("0123456789"), rapid.IntRange(leastSlab/10+1, leastSlab/5).Draw(t, "tens"))
		s := newSlab(int64(len(want)))
		s.buf = append(s.buf, want...)
		kept := rapid.Bool().Draw(t, "kept")
		whole := s.whole[:len(want)]
		var open []io.ReadCloser
		holds := true // the request itself
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
			case what == 0:
				b, err := s.lend()
				if (err == nil) != (holds || len(open) > 0) {
					t.Fatalf("lent: %v", err)
				}
				if err == nil {
					open = append(open, b)
				}
			case what == 1 && len(open) > 0:
				i := rapid.IntRange(0, len(open)-1).Draw(t, "body")
				got, err := io.ReadAll(open[i])
				if err != nil || !bytes.HasSuffix(want, got) {
					t.Fatalf("read %d bytes, %v", len(got), err)
				}
			case what == 2 && len(open) > 0:
				b := open[len(open)-1]
				open = open[:len(open)-1]
				_, _ = b.Close(), b.Close()
				if n, err := b.Read(make([]byte, 9)); n != 0 || err == nil || err == io.EOF {
					t.Fatalf("%d bytes, %v of a closed body", n, err)
				}
			case what == 3 && holds:
				if kept {
					s.keep()
				}
				holds = false
				s.drop()
			}
			again := !holds && len(open) == 0 && !kept
			if bytes.Equal(whole, want) == again {
				t.Fatalf("held %v, %d open, kept %v: given back is %v", holds, len(open), kept, !bytes.Equal(whole, want))
			}
			if again {
				return // it belongs to somebody else now
			}
		}
	})
}

// TestWhatLeavesUnchangedIsKept: a request of which no form is smaller leaves in the
// memory that it was decoded into. It is what it was for as long as somebody reads it.
func TestWhatLeavesUnchangedIsKept(t *testing.T) {
	raw := bytes.Repeat([]byte("a"), 3*leastSlab)
	r := post(bytes.NewReader(raw), "")
	c, err := readBody(r, 1<<20, newBodyBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	x := &exchange{r: r, captured: c}
	sent := x.request(plan{body: c.Decoded})
	c.Release()
	if got, err := io.ReadAll(sent.Body); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("%d bytes, the same: %v, %v", len(got), bytes.Equal(got, raw), err)
	}
}

// TestAServedBodyIsGivenBack: behind the shipped proxy nobody forgets to close one.
func TestAServedBodyIsGivenBack(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{}")
	}))
	defer up.Close()
	target, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	next := NewProxy(ProxyConfig{Upstream: target})
	raw := bytes.Repeat([]byte("a"), 3*leastSlab)
	r := post(bytes.NewReader(raw), "")
	c, err := readBody(r, 1<<20, newBodyBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	s := c.raw
	x := &exchange{r: r, captured: c, next: next}
	sent := x.request(plan{})
	next.ServeHTTP(httptest.NewRecorder(), sent)
	_ = sent.Body.Close()
	c.Release()
	// The transport closes what it has sent a little before or after the answer.
	for until := time.Now().Add(10 * time.Second); s.users.Load() != 0; runtime.Gosched() {
		if time.Now().After(until) {
			t.Fatalf("%d are still to look at a body that was served", s.users.Load())
		}
	}
}
