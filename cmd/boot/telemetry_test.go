package boot

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP collector in this process.
type collector struct {
	mu      sync.Mutex
	spans   []string // name parent's trace/parent's span
	metrics map[string]bool
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.URL.Path {
	case "/v1/traces":
		var sent tracepb.ExportTraceServiceRequest
		if proto.Unmarshal(data, &sent) != nil {
			return
		}
		for _, resource := range sent.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					c.spans = append(c.spans, fmt.Sprintf("%s %x/%x", s.Name, s.TraceId, s.ParentSpanId))
				}
			}
		}
	case "/v1/metrics":
		var sent metricspb.ExportMetricsServiceRequest
		if proto.Unmarshal(data, &sent) != nil {
			return
		}
		for _, resource := range sent.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					c.metrics[m.Name] = true
				}
			}
		}
	}
}

// A collector that the environment names gets spans and figures, the last ones when the process ends; and a trace that an MCP
// client hands on goes on in them, on HTTP and on standard input.
func TestACollectorGetsTracesAndMetrics(t *testing.T) {
	got := &collector{metrics: map[string]bool{}}
	srv := httptest.NewServer(got)
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	n, err := Own(t.Context(), Config{Dir: t.TempDir(), Role: RoleServe, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	const traceID, other = "0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736"
	line := func(tool, span string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_` + tool + `","arguments":{"id":"w"},"_meta":{"traceparent":"00-` +
			traceID + `-` + span + `-01"}}}`
	}
	post := func(body, header string) {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp/workbench", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if header != "" {
			r.Header.Set("Traceparent", header)
		}
		w := httptest.NewRecorder()
		n.Server.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	post(line("create", "00000000000000a1"), "")
	post(line("list", "00000000000000a2"), "00-"+other+"-00000000000000b2-01")
	if err := n.Server.MCP().ServeStdio(context.Background(), strings.NewReader(line("stat", "00000000000000a3")), io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	spans := strings.Join(got.spans, "\n")
	for _, want := range []string{
		"workbench.create " + traceID + "/00000000000000a1",
		"workbench.list " + other + "/00000000000000b2",
		"workbench.stat " + traceID + "/00000000000000a3",
	} {
		if !strings.Contains(spans, want) {
			t.Errorf("no span %s among\n%s", want, spans)
		}
	}
	for _, want := range []string{"sawhorse.operation.duration", "sawhorse.store.updates", "sawhorse.store.disk_bytes"} {
		if !got.metrics[want] {
			t.Errorf("no metric %s among %v", want, got.metrics)
		}
	}
}

// A collector that does not answer keeps nothing from ending.
func TestADeadCollectorIsNotWaitedForLong(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	n, err := Own(t.Context(), Config{Dir: t.TempDir(), Role: RoleServe, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}
