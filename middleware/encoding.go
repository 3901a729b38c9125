package middleware

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Why a body is not looked into. They are reasons of the Foldgate-Fold header.
const (
	opaqueEncoding = "encoding"
	opaqueTooLarge = "too-large"
)

// zstdWindow is the largest window of the "zstd" content coding (RFC 9659).
const zstdWindow = 8 << 20

// decodeBody undoes one content coding within limit and budget, to look. What it
// took of the budget for a result that is not kept is given back.
func decodeBody(encoding string, raw []byte, limit int64, l *bodyLease) (decoded *slab, opaque string) {
	before := l.held.Load()
	src, done, err := openDecoder(encoding, raw)
	if err != nil {
		return nil, opaqueEncoding
	}
	defer done()
	// Texts compress about four to one; a wrong guess costs one copy.
	step := min(max(4*int64(len(raw)), 4<<10), 4<<20)
	decoded, err = readGrowing(src, -1, step, limit, l)
	if err == nil {
		return decoded, ""
	}
	l.shrink(l.held.Load() - before)
	if errors.Is(err, errTooLarge) || errors.Is(err, errOverloaded) {
		return nil, opaqueTooLarge
	}
	return nil, opaqueEncoding
}

// decodeAnswer undoes the content coding of what is held of an answer, within
// limit. The result is nobody else's.
func decodeAnswer(encoding string, raw []byte, limit int64) (decoded []byte, opaque string) {
	s, opaque := decodeBody(encoding, raw, limit, &bodyLease{budget: newBodyBudget(0)})
	if opaque != "" {
		return nil, opaque
	}
	return s.buf, ""
}

// errUnknownEncoding: a coding that is not read, several of them included.
var errUnknownEncoding = errors.New("middleware: unknown content coding")

// openDecoder gives a reader of the decoded bytes; done ends its use.
func openDecoder(encoding string, raw []byte) (src io.Reader, done func(), err error) {
	switch encoding {
	case "gzip", "x-gzip":
		return openGzip(raw)
	case "deflate":
		return openDeflate(raw)
	case "zstd":
		return openZstd(raw)
	default:
		return nil, nil, errUnknownEncoding
	}
}

// The decoders keep no byte of a body once they are reset.
var (
	gzipReaders  = sync.Pool{New: func() any { return new(gzip.Reader) }}
	zstdDecoders = sync.Pool{New: func() any { return newZstd() }}
)

func openGzip(raw []byte) (io.Reader, func(), error) {
	zr, _ := gzipReaders.Get().(*gzip.Reader)
	if err := zr.Reset(bytes.NewReader(raw)); err != nil {
		gzipReaders.Put(zr)
		return nil, nil, err
	}
	return zr, func() {
		_ = zr.Reset(bytes.NewReader(nil)) // lets go of raw; fails for want of a header
		gzipReaders.Put(zr)
	}, nil
}

// openDeflate reads both forms that are sent as "deflate": the zlib format, as
// RFC 9110 says, and the bare one, as some clients do.
func openDeflate(raw []byte) (io.Reader, func(), error) {
	if len(raw) >= 2 && raw[0]&0x0f == 8 && (uint(raw[0])<<8|uint(raw[1]))%31 == 0 {
		if zr, err := zlib.NewReader(bytes.NewReader(raw)); err == nil {
			return zr, func() { _ = zr.Close() }, nil
		}
	}
	fr := flate.NewReader(bytes.NewReader(raw))
	return fr, func() { _ = fr.Close() }, nil
}

func newZstd() *zstd.Decoder {
	// One at a time: no goroutine of its own, so an idle one in the pool may
	// simply be collected.
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return nil // only for options out of range
	}
	return d
}

func openZstd(raw []byte) (io.Reader, func(), error) {
	d, _ := zstdDecoders.Get().(*zstd.Decoder)
	if d == nil {
		return nil, nil, errUnknownEncoding
	}
	if err := d.Reset(bytes.NewReader(raw)); err != nil {
		return nil, nil, err
	}
	return d, func() {
		if d.Reset(nil) == nil {
			zstdDecoders.Put(d)
		}
	}, nil
}
