package redisstore_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// impostor is a TLS server with a certificate for that name. It counts how many
// clients took it for what they wanted, and reads what they would have told it.
type impostor struct {
	addr     string
	pool     *x509.CertPool
	accepted atomic.Int64
}

func newImpostor(t *testing.T, name string) *impostor {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, DNSNames: []string{name},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	x := &impostor{pool: x509.NewCertPool()}
	x.pool.AddCert(leaf)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	x.addr = l.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(patience))
			var first [1]byte
			if n, _ := c.Read(first[:]); n > 0 { // the client went on after the handshake
				x.accepted.Add(1)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return x
}

// deployments are the kinds of URL that speak TLS, with a password to steal.
var deployments = map[string]func(addr string) string{
	"one server": func(addr string) string { return "rediss://:secret@" + addr },
	"a cluster":  func(addr string) string { return "rediss+cluster://:secret@" + addr },
	"a cluster of several": func(addr string) string {
		_, port, _ := net.SplitHostPort(addr)
		return "rediss+cluster://:secret@" + addr + ",localhost:" + port
	},
	"sentinels": func(addr string) string {
		return "rediss+sentinel://:secret@" + addr + "/mymaster?sentinel_password=secret"
	},
}

// Whoever cannot prove to be the server is told nothing: neither one that nobody
// vouches for, nor one that is vouched for under another name.
func TestTLSIsVerified(t *testing.T) {
	t.Parallel()
	for kind, url := range deployments {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			unknown := newImpostor(t, "localhost")
			_, port, _ := net.SplitHostPort(unknown.addr)
			read := func(s *redisstore.Store) error {
				_, err := s.Read(t.Context(), keyOf(t.Name()), nil)
				wantError(t, "read", err, ownership.ErrUnavailable)
				return err
			}
			err := read(open(t, redisstore.Config{URL: url("localhost:" + port)}))
			if !strings.Contains(err.Error(), "certificate") {
				t.Errorf("nobody vouches for it: %v", err)
			}
			named := newImpostor(t, "other.example")
			s, err := redisstore.OpenTrusting(redisstore.Config{URL: url(named.addr)}, named.pool)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			if err := read(s); !strings.Contains(err.Error(), "certificate") {
				t.Errorf("it has another name: %v", err)
			}
			if n := unknown.accepted.Load() + named.accepted.Load(); n > 0 {
				t.Errorf("%d impostors were told something", n)
			}
		})
	}
}

// The same store with the same certificate under its own name works: what is refused
// above is refused for its name.
func TestTLSOfItsOwnName(t *testing.T) {
	t.Parallel()
	certificate := redistest.NewCertificate(t)
	server := redistest.Start(t, redistest.WithTLS(certificate), redistest.WithPassword("secret"))
	s, err := redisstore.OpenTrusting(redisstore.Config{URL: "rediss://:secret@" + server.Addr}, certificate.Pool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	mustCommit(t, s, keyOf(t.Name()), target(3, "x"), "summary")
}
