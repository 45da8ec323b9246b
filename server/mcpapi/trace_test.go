package mcpapi

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// The trace that a client hands on in _meta is the parent of the call's span, on every path; a header's has precedence, and
// what is malformed is no trace and no mistake.
func TestATraceIsTakenFromMeta(t *testing.T) {
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	header := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: 1})
	for name, c := range map[string]struct {
		meta      string // members of _meta
		change    func(*Profile)
		stdio     bool
		ctx       context.Context
		headers   map[string]string
		want      string
		wantState string
	}{
		"short path":       {meta: `"traceparent":"00-` + id + `-` + span + `-01","tracestate":"a=b"`, want: id + "/" + span, wantState: "a=b"},
		"SDK":              {meta: `"traceparent":"00-` + id + `-` + span + `-01","tracestate":"a=b"`, change: noShortPath, want: id + "/" + span, wantState: "a=b"},
		"stdio":            {meta: `"traceparent":"00-` + id + `-` + span + `-01","tracestate":"a=b"`, stdio: true, want: id + "/" + span, wantState: "a=b"},
		"modern":           {meta: `"traceparent":"00-` + id + `-` + span + `-01",` + strings.TrimSuffix(strings.TrimPrefix(modernMeta, `"_meta":{`), "}"), headers: modernHeaders(methodCall, "workbench_create"), want: id + "/" + span},
		"header first":     {meta: `"traceparent":"00-` + id + `-` + span + `-01"`, ctx: trace.ContextWithRemoteSpanContext(context.Background(), header), want: header.TraceID().String() + "/" + header.SpanID().String()},
		"malformed":        {meta: `"traceparent":"00-xyz"`},
		"of another kind":  {meta: `"traceparent":{"a":1},"tracestate":5`},
		"malformed, SDK":   {meta: `"traceparent":["00"]`, change: noShortPath},
		"malformed, stdio": {meta: `"traceparent":7`, stdio: true},
		"a state alone":    {meta: `"tracestate":"a=b"`},
	} {
		t.Run(name, func(t *testing.T) {
			spans := tracetest.NewSpanRecorder()
			p, err := call.New(call.Options{API: &op.API{Workbench: fake{}}, Principal: actor.Principal{User: "1"},
				TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))})
			if err != nil {
				t.Fatal(err)
			}
			rt := newRuntime(t, func(profile *Profile) {
				profile.Pipeline = p
				if c.change != nil {
					c.change(profile)
				}
			})
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workbench_create","arguments":{"id":"w"},"_meta":{%s}}}`, c.meta)
			var answer string
			if c.stdio {
				answer = talk(t, rt, line)[0]
			} else {
				r := httptest.NewRequest("POST", "/mcp/workbench", strings.NewReader(line))
				if c.ctx != nil {
					r = r.WithContext(c.ctx)
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				for k, v := range c.headers {
					r.Header.Set(k, v)
				}
				w := httptest.NewRecorder()
				rt.ServeHTTP(w, r)
				answer = w.Body.String()
			}
			ended := spans.Ended()
			if len(ended) != 1 || !strings.Contains(answer, `"status":"success"`) {
				t.Fatalf("%d spans, answer %s", len(ended), answer)
			}
			parent := ended[0].Parent()
			got := ""
			if parent.IsValid() {
				got = parent.TraceID().String() + "/" + parent.SpanID().String()
			}
			if got != c.want || parent.TraceState().String() != c.wantState {
				t.Errorf("parent %q with state %q, want %q with %q", got, parent.TraceState(), c.want, c.wantState)
			}
		})
	}
}

// A trace in _meta is another one with every call, and so is not remembered.
func TestTracesAreNotRemembered(t *testing.T) {
	var c metaCache
	for i := range 10 {
		if v := c.judge(fmt.Appendf(nil, `{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333%d-01"}`, i)); !v.usable || !v.parent.IsValid() {
			t.Errorf("verdict %+v", v)
		}
	}
	if m := c.known.Load(); m != nil && len(*m) > 0 {
		t.Errorf("%d are remembered", len(*m))
	}
}
