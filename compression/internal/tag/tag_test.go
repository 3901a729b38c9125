package tag_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/internal/tag"
)

// TestTags: the same bytes have the same tag, others another one.
func TestTags(t *testing.T) {
	tagger, other := tag.New(), tag.New()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOf(rapid.Byte()).Draw(t, "a")
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		d := tag.Domain{rapid.Byte().Draw(t, "domain")}
		of := tagger.Of(d, a)
		if of != tagger.Of(d, bytes.Clone(a)) {
			t.Fatal("equal bytes, different tags")
		}
		if bytes.Equal(a, b) != (of == tagger.Of(d, b)) {
			t.Fatal("different bytes, equal tags")
		}
		if d[0]++; of == tagger.Of(d, a) {
			t.Fatal("two domains, equal tags")
		}
		if d[0]--; of == other.Of(d, a) {
			t.Fatal("two taggers, equal tags")
		}
		if of == (tag.Tag{}) {
			t.Fatal("a tag that is none")
		}
	})
}

// TestEveryBitCounts: one bit changed, a byte more or less, gives another tag.
func TestEveryBitCounts(t *testing.T) {
	t.Parallel()
	tagger, b := tag.New(), bytes.Repeat([]byte{0}, 100)
	of := tagger.Of(tag.Domain{}, b)
	for i := range b {
		for bit := range 8 {
			b[i] ^= 1 << bit
			if of == tagger.Of(tag.Domain{}, b) {
				t.Errorf("byte %d, bit %d: the same tag", i, bit)
			}
			b[i] ^= 1 << bit
		}
	}
	if of == tagger.Of(tag.Domain{}, b[:99]) || of == tagger.Of(tag.Domain{}, append(b, 0)) {
		t.Error("another length, the same tag")
	}
}

// TestTagsUnderFIPS: the tests above, where nothing but what FIPS 140 approves may
// be used. It is decided as a process starts.
func TestTagsUnderFIPS(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, "-test.run=^(TestTags|TestEveryBitCounts)$", "-test.v")
	c.Env = append(os.Environ(), "GODEBUG=fips140=only")
	out, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestEveryBitCounts")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

func BenchmarkTag(b *testing.B) {
	for _, bench := range []struct {
		name string
		size int
	}{{"1KB", 1 << 10}, {"8KB", 8 << 10}, {"1MB", 1 << 20}} {
		b.Run(bench.name, func(b *testing.B) {
			tagger, text := tag.New(), make([]byte, bench.size)
			b.SetBytes(int64(bench.size))
			b.ReportAllocs()
			for b.Loop() {
				tagger.Of(tag.Domain{}, text)
			}
		})
	}
}
