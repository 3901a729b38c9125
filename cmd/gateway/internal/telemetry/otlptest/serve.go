package otlptest

import (
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // OTEL_EXPORTER_OTLP_COMPRESSION=gzip
	"google.golang.org/protobuf/proto"
)

var errRefused = errors.New("otlptest: refused, as the test wants it")

// HTTP starts a collector for OTLP over HTTP with protobuf.
func HTTP(tb testing.TB) *Collector {
	tb.Helper()
	c := newCollector("http/protobuf")
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		req := new(collectortrace.ExportTraceServiceRequest)
		answer(w, read(r, req) == nil && c.takeTraces(req), &collectortrace.ExportTraceServiceResponse{})
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		req := new(collectormetrics.ExportMetricsServiceRequest)
		answer(w, read(r, req) == nil && c.takeMetrics(req), &collectormetrics.ExportMetricsServiceResponse{})
	})
	server := httptest.NewServer(mux)
	tb.Cleanup(server.Close)
	c.endpoint = server.URL
	return c
}

func read(r *http.Request, into proto.Message) error {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return proto.Unmarshal(b, into)
}

func answer(w http.ResponseWriter, taken bool, with proto.Message) {
	if !taken {
		http.Error(w, errRefused.Error(), http.StatusBadRequest)
		return
	}
	b, err := proto.Marshal(with)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(b) // who hung up needs no answer
}

// GRPC starts a collector for OTLP over gRPC, without TLS.
func GRPC(tb testing.TB) *Collector {
	tb.Helper()
	c := newCollector("grpc")
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listening: %v", err)
	}
	server := grpc.NewServer()
	collectortrace.RegisterTraceServiceServer(server, traces{c: c})
	collectormetrics.RegisterMetricsServiceServer(server, metrics{c: c})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // it ends by Stop
	}()
	tb.Cleanup(func() {
		server.Stop()
		<-done
	})
	c.endpoint = "http://" + l.Addr().String()
	return c
}
