package middleware

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// packers make every coding that is read.
var packers = map[string]func([]byte) []byte{
	"gzip":   func(b []byte) []byte { return pack(b, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }) },
	"x-gzip": func(b []byte) []byte { return pack(b, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }) },
	"deflate": func(b []byte) []byte {
		return pack(b, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
	},
	"raw deflate": func(b []byte) []byte {
		return pack(b, func(w io.Writer) io.WriteCloser { fw, _ := flate.NewWriter(w, 5); return fw })
	},
	"zstd": func(b []byte) []byte {
		return pack(b, func(w io.Writer) io.WriteCloser { zw, _ := zstd.NewWriter(w); return zw })
	},
}

func pack(b []byte, open func(io.Writer) io.WriteCloser) []byte {
	var out bytes.Buffer
	w := open(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

func post(body io.Reader, encoding string) *http.Request {
	r := httptest.NewRequest("POST", "/v1/chat/completions", body)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	return r
}

func TestReadBodyPlain(t *testing.T) {
	const limit = 1 << 20
	for _, size := range []int{0, 1, 511, firstStep - 1, firstStep, firstStep + 1, 3*firstStep + 7, limit} {
		for _, announced := range []bool{true, false} {
			t.Run(strconv.Itoa(size)+" announced "+strconv.FormatBool(announced), func(t *testing.T) {
				want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
				r := post(bytes.NewReader(want), "")
				if !announced {
					r.ContentLength = -1
				}
				budget := newBodyBudget(2 * limit)
				c, err := readBody(r, limit, budget)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(c.Raw, want) || !bytes.Equal(c.Decoded, want) || c.Encoding != "" || c.Opaque != "" {
					t.Errorf("got %d raw, %d decoded, %q, %q; want %d twice", len(c.Raw), len(c.Decoded), c.Encoding, c.Opaque, size)
				}
				if got := budget.InFlight(); got < int64(size) {
					t.Errorf("%d bytes in flight, want at least %d", got, size)
				}
				c.Release()
				c.Release()
				if got := budget.InFlight(); got != 0 {
					t.Errorf("%d bytes in flight after release, want 0", got)
				}
			})
		}
	}
}

func TestReadBodyRefuses(t *testing.T) {
	broken := errors.New("reset")
	tests := []struct {
		name   string
		r      func() *http.Request
		limit  int64
		budget int64
		want   error
	}{
		{"announced over the limit", func() *http.Request {
			r := post(iotest.ErrReader(broken), "") // must not be read
			r.ContentLength = 11
			return r
		}, 10, 100, errTooLarge},
		{"chunked over the limit", func() *http.Request { return chunked(strings.NewReader(strings.Repeat("a", 11))) }, 10, 100, errTooLarge},
		{"one bound around another", func() *http.Request {
			r := chunked(http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("abcdef")), 3))
			return r
		}, 10, 100, errTooLarge},
		{"over the budget at once", func() *http.Request { return post(strings.NewReader(strings.Repeat("a", 200)), "") }, 1000, 100, errOverloaded},
		{"over the budget while growing", func() *http.Request { return chunked(strings.NewReader(strings.Repeat("a", 100_000))) }, 1 << 20, 40_000, errOverloaded},
		{"broken", func() *http.Request {
			return chunked(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)))
		}, 1 << 20, 1 << 20, errBodyBroken},
		{"shorter than announced", func() *http.Request {
			r := post(strings.NewReader("abc"), "")
			r.ContentLength = 5
			return r
		}, 10, 100, errBodyBroken},
		{"longer than announced", func() *http.Request {
			r := post(strings.NewReader("abcdef"), "")
			r.ContentLength = 5
			return r
		}, 10, 1000, errBodyBroken},
		{"no progress", func() *http.Request { return chunked(stuck{}) }, 10, 100, errBodyBroken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			budget := newBodyBudget(tt.budget)
			if _, err := readBody(tt.r(), tt.limit, budget); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if got := budget.InFlight(); got != 0 {
				t.Errorf("%d bytes in flight after an error, want 0", got)
			}
		})
	}
}

func chunked(body io.Reader) *http.Request {
	r := post(body, "")
	r.ContentLength = -1
	return r
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReadBodyDoesNotTrustAnAnnouncement(t *testing.T) {
	r := post(strings.NewReader("abc"), "")
	r.ContentLength = 1 << 30
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readBody(r, 1<<31, newBodyBudget(0))
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errBodyBroken) {
		t.Errorf("got %v, want errBodyBroken", err)
	}
	if grew := after.TotalAlloc - before.TotalAlloc; grew > 16<<20 {
		t.Errorf("allocated %d bytes for three", grew)
	}
}

func TestReadBodyDecodes(t *testing.T) {
	want := []byte(strings.Repeat(`{"messages":[{"role":"user","content":"ä"}]} `, 2000))
	for name, packer := range packers {
		t.Run(name, func(t *testing.T) {
			packed := packer(want)
			encoding := strings.TrimPrefix(name, "raw ")
			budget := newBodyBudget(0)
			for range 3 { // decoders are reused
				c, err := readBody(post(bytes.NewReader(packed), " "+strings.ToUpper(encoding)), 1<<20, budget)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(c.Raw, packed) || !bytes.Equal(c.Decoded, want) || c.Encoding != encoding || c.Opaque != "" {
					t.Errorf("got %d raw, %d decoded, %q, %q", len(c.Raw), len(c.Decoded), c.Encoding, c.Opaque)
				}
				c.Release()
			}
			if got := budget.InFlight(); got != 0 {
				t.Errorf("%d bytes in flight, want 0", got)
			}
		})
	}
}

func TestReadBodyOpaque(t *testing.T) {
	zeros := make([]byte, 2<<20)
	good := packers["gzip"]([]byte(`{"messages":[]}`))
	type test struct {
		name, encoding string
		body           []byte
		limit, budget  int64
		want           string
	}
	tests := []test{
		{"unknown", "br", []byte("x"), 1 << 20, 0, opaqueEncoding},
		{"several", "gzip, zstd", good, 1 << 20, 0, opaqueEncoding},
		{"not gzip", "gzip", []byte("plain text"), 1 << 20, 0, opaqueEncoding},
		{"empty", "gzip", nil, 1 << 20, 0, opaqueEncoding},
		{"cut", "gzip", good[:len(good)-3], 1 << 20, 0, opaqueEncoding},
		{"wrong sum", "gzip", append(bytes.Clone(good[:len(good)-8]), 0, 0, 0, 0, 0, 0, 0, 0), 1 << 20, 0, opaqueEncoding},
		{"garbage after it", "gzip", append(bytes.Clone(good), "tail"...), 1 << 20, 0, opaqueEncoding},
		{"not zstd", "zstd", []byte("plain text"), 1 << 20, 0, opaqueEncoding},
		{"not deflate", "deflate", []byte("\xff\xff\xff\xff"), 1 << 20, 0, opaqueEncoding},
		{"decoded over the budget", "gzip", packers["gzip"](zeros[:1<<20]), 4 << 20, 64 << 10, opaqueTooLarge},
	}
	for name, packer := range packers {
		tests = append(tests, test{"bomb in " + name, strings.TrimPrefix(name, "raw "), packer(zeros), 256 << 10, 0, opaqueTooLarge})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			budget := newBodyBudget(tt.budget)
			c, err := readBody(post(bytes.NewReader(tt.body), tt.encoding), tt.limit, budget)
			if err != nil {
				t.Fatal(err)
			}
			if c.Opaque != tt.want || c.Decoded != nil || !bytes.Equal(c.Raw, tt.body) {
				t.Errorf("got %q with %d decoded bytes and %d raw, want %q with none and all %d", c.Opaque, len(c.Decoded), len(c.Raw), tt.want, len(tt.body))
			}
			if got := budget.InFlight(); got != int64(len(tt.body)) {
				t.Errorf("%d bytes in flight, want the %d of the body as it came", got, len(tt.body))
			}
			c.Release()
			if got := budget.InFlight(); got != 0 {
				t.Errorf("%d bytes in flight after release, want 0", got)
			}
		})
	}
}

func TestContentEncoding(t *testing.T) {
	tests := []struct {
		name   string
		values []string
		want   string
	}{
		{"none", nil, ""},
		{"empty", []string{""}, ""},
		{"identity", []string{"identity"}, ""},
		{"one", []string{"GZip"}, "gzip"},
		{"identity and one", []string{"identity, gzip"}, "gzip"},
		{"several", []string{"gzip,zstd"}, "gzip, zstd"},
		{"several lines", []string{"gzip", "zstd"}, "gzip, zstd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := contentEncoding(http.Header{"Content-Encoding": tt.values}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Through a real server: what a client does wrong on the wire.
func TestReadBodyOnTheWire(t *testing.T) {
	tests := []struct {
		name, request string
		closeWrite    bool
		want          error
	}{
		{"length too large", "Content-Length: 10\r\n\r\nabc", true, errBodyBroken},
		{"bad chunk", "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n", false, errBodyBroken},
		{"cut chunk", "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", true, errBodyBroken},
		{"no last chunk", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", true, errBodyBroken},
		{"good chunks", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", false, nil},
		{"good length", "Content-Length: 3\r\n\r\nabc", false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			budget := newBodyBudget(0)
			got := make(chan error, 1)
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				c, err := readBody(r, 1<<20, budget)
				c.Release()
				got <- err
			}))
			defer s.Close()
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\n"+tt.request)
			if tt.closeWrite {
				_ = c.(*net.TCPConn).CloseWrite()
			}
			select {
			case err := <-got:
				if !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			case <-time.After(time.Minute):
				t.Fatal("still reading")
			}
			if got := budget.InFlight(); got != 0 {
				t.Errorf("%d bytes in flight, want 0", got)
			}
		})
	}
}

func TestReadBodyAnyChunking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Byte(), 0, 4000).Draw(t, "body")
		limit := rapid.Int64Range(0, 5000).Draw(t, "limit")
		max := rapid.Int64Range(1, 50_000).Draw(t, "budget")
		var src io.Reader = bytes.NewReader(want)
		switch rapid.IntRange(0, 3).Draw(t, "reader") {
		case 0:
			src = iotest.OneByteReader(src)
		case 1:
			src = iotest.HalfReader(src)
		case 2:
			src = iotest.DataErrReader(src)
		}
		r := post(src, "")
		r.ContentLength = int64(len(want))
		if rapid.Bool().Draw(t, "chunked") {
			r.ContentLength = -1
		}
		budget := newBodyBudget(max)
		c, err := readBody(r, limit, budget)
		switch {
		case err == nil:
			if int64(len(want)) > limit || !bytes.Equal(c.Raw, want) {
				t.Fatalf("got %d bytes under the limit %d, want %d", len(c.Raw), limit, len(want))
			}
			if got := budget.InFlight(); got > max || got < int64(len(want)) {
				t.Fatalf("%d bytes in flight for %d, budget %d", got, len(want), max)
			}
		case errors.Is(err, errTooLarge):
			if int64(len(want)) <= limit {
				t.Fatalf("%d bytes were over the limit %d", len(want), limit)
			}
		case !errors.Is(err, errOverloaded):
			t.Fatal(err)
		}
		c.Release()
		if got := budget.InFlight(); got != 0 {
			t.Fatalf("%d bytes in flight after release", got)
		}
	})
}

func TestWithBody(t *testing.T) {
	r := post(strings.NewReader("old"), "gzip")
	r.Header.Set("Content-Length", "3")
	r.Header.Set("Expect", "100-continue")
	r.Header.Set("Content-MD5", "x")
	r.Header.Set("X-Other", "y")
	r.TransferEncoding = []string{"chunked"}
	before := r.Header.Clone()

	same := withBody(r, &captured{Raw: []byte("old")})
	checkBody(t, same, "old", http.Header{"Content-Length": {"3"}, "Content-Encoding": {"gzip"}, "Content-Md5": {"x"}, "X-Other": {"y"}})

	other := withReplacedBody(r, []byte("longer"))
	checkBody(t, other, "longer", http.Header{"Content-Length": {"6"}, "X-Other": {"y"}})

	empty := withReplacedBody(r, nil)
	checkBody(t, empty, "", http.Header{"Content-Length": {"0"}, "X-Other": {"y"}})
	if empty.Body != http.NoBody {
		t.Errorf("got body %T, want http.NoBody", empty.Body)
	}
	if diff := cmp.Diff(before, r.Header); diff != "" {
		t.Errorf("the request itself changed (-want +got):\n%s", diff)
	}
}

func checkBody(t *testing.T, r *http.Request, want string, header http.Header) {
	t.Helper()
	if diff := cmp.Diff(header, r.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if r.ContentLength != int64(len(want)) || r.TransferEncoding != nil {
		t.Errorf("got length %d, %v; want %d, none", r.ContentLength, r.TransferEncoding, len(want))
	}
	again, _ := r.GetBody()
	for _, body := range []io.Reader{r.Body, again} {
		if b, err := io.ReadAll(body); string(b) != want || err != nil {
			t.Errorf("got %q, %v; want %q", b, err, want)
		}
	}
}

func TestWithBodyKeepsTrailers(t *testing.T) {
	r := post(strings.NewReader("x"), "")
	r.Trailer = http.Header{"X-Sum": {"7"}}
	r.Header.Set("Content-Length", "1")
	out := withBody(r, &captured{Raw: []byte("x")})
	if out.ContentLength != -1 || out.Trailer.Get("X-Sum") != "7" {
		t.Errorf("got length %d, trailers %v; want a chunked body with X-Sum", out.ContentLength, out.Trailer)
	}
	if out := withReplacedBody(r, []byte("other")); out.Trailer != nil || out.ContentLength != 5 {
		t.Errorf("got length %d, trailers %v; want 5, none", out.ContentLength, out.Trailer)
	}
}

func TestBodyBudgetConcurrently(t *testing.T) {
	budget := newBodyBudget(1 << 20)
	done := make(chan struct{})
	const workers = 8
	for range workers {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 40 {
				c, err := readBody(post(strings.NewReader(strings.Repeat("a", 300_000)), ""), 1<<20, budget)
				if err != nil && !errors.Is(err, errOverloaded) {
					t.Error(err)
				}
				if got := budget.InFlight(); got > 1<<20 {
					t.Errorf("%d bytes in flight", got)
				}
				c.Release()
			}
		}()
	}
	for range workers {
		<-done
	}
	if got := budget.InFlight(); got != 0 {
		t.Errorf("%d bytes in flight at the end, want 0", got)
	}
}

func FuzzDecodeBody(f *testing.F) {
	for name, packer := range packers {
		f.Add(strings.TrimPrefix(name, "raw "), packer([]byte(`{"messages":[{"role":"user"}]}`)))
	}
	f.Fuzz(func(t *testing.T, encoding string, raw []byte) {
		const limit = 1 << 16
		budget := newBodyBudget(0)
		l := &bodyLease{budget: budget}
		decoded, opaque := decodeBody(encoding, raw, limit, l)
		if (decoded != nil) != (opaque == "") || decoded != nil && len(decoded.buf) > limit {
			t.Errorf("%v, %q", decoded, opaque)
		}
		if opaque != "" && budget.InFlight() != 0 {
			t.Errorf("%d bytes in flight for nothing", budget.InFlight())
		}
		l.release()
		if budget.InFlight() != 0 {
			t.Errorf("%d bytes in flight", budget.InFlight())
		}
	})
}

func BenchmarkReadBody(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 2 << 20} {
		b.Run(strconv.Itoa(size>>10)+"KiB", func(b *testing.B) {
			body := bytes.Repeat([]byte("x"), size)
			budget := newBodyBudget(1 << 30)
			r := post(nil, "")
			r.ContentLength = int64(size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				r.Body = io.NopCloser(bytes.NewReader(body))
				c, err := readBody(r, 64<<20, budget)
				if err != nil {
					b.Fatal(err)
				}
				c.Release()
			}
		})
	}
}

func BenchmarkReadBodyGzip(b *testing.B) {
	body := []byte(strings.Repeat(`{"role":"user","content":"some text of a message"},`, 5000))
	packed := packers["gzip"](body)
	budget := newBodyBudget(1 << 30)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := readBody(post(bytes.NewReader(packed), "gzip"), 64<<20, budget)
		if err != nil || c.Decoded == nil {
			b.Fatal(err)
		}
		c.Release()
	}
}
