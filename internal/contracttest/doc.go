// Package contracttest holds what tests get over HTTP against openapi.yaml.
//
// A Description is the document together with what was seen of it. A test suite
// loads one, wraps the handlers that it serves (Admin, Data) or the transport of
// its clients (Transport), and asks at its end what it never saw (Unseen).
//
// # What is held against the document
//
// The admin plane: the path, the method, the status, the media type, every
// documented field of the header, and the whole body; an object may have no
// property that is not documented, although a client must accept one.
//
// The data plane: the fields of the gateway's own, each once and by its grammar,
// in heads, in trailers and in the comment frame of a stream that was kept
// alive, on chat requests only and on each of them; and the gateway's own
// errors, status, code and body. The gateway's own are told from an upstream's by
// their bytes: nobody else writes the envelope in this order with a line end.
//
// # What may fail how
//
// A breach fails the test that got the response, through its Reporter, or the
// request itself, through Transport. What net/http answers before a handler is
// asked (a doubled Host, a header that is too long) is not seen.
package contracttest
