package call_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// stat is an API whose stat does as the test says; every other method would be a nil dereference.
type stat struct {
	op.Workbench
	do func(ctx context.Context, req *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error)
}

func (s stat) Stat(ctx context.Context, req *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
	return s.do(ctx, req)
}

func pipeline(t testing.TB, o call.Options) *call.Pipeline {
	t.Helper()
	p, err := call.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func withStat(do func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error)) call.Options {
	return call.Options{API: &op.API{Workbench: stat{do: do}}}
}

func reasonOf(err error) op.Reason {
	if err == nil {
		return ""
	}
	return fault.From(err).Reason
}

// Invariants 1 and 2 together: whatever happens inside, one measurement and one registered reason come out.
func TestEveryOutcomeIsCodedAndCounted(t *testing.T) {
	for _, c := range []struct {
		name string
		args string
		do   func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error)
		want op.Reason
	}{
		{"success", `{"id":"a"}`, func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
			return &op.WorkbenchStatResult{}, nil
		}, ""},
		{"a coded refusal", `{"id":"a"}`, func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
			return nil, fault.New(op.ReasonWBNotFound, "").With("path", "x")
		}, op.ReasonWBNotFound},
		{"a coded refusal that was wrapped", `{"id":"a"}`, func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
			return nil, fmt.Errorf("outer: %w", fault.New(op.ReasonWBNotFound, ""))
		}, op.ReasonWBNotFound},
		{"an uncoded error", `{"id":"a"}`, func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
			return nil, errors.New("open /srv/data/000123.sst: secret")
		}, op.ReasonInternal},
		{"a panic", `{"id":"a"}`, func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
			panic("index out of range in /srv/code.go")
		}, op.ReasonInternal},
		{"malformed arguments", `{"id":"a","extra":1}`, nil, op.ReasonInvalidArguments},
		{"a context that ended", `{"id":"a"}`, func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
			return nil, context.Canceled
		}, op.ReasonCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			var logged bytes.Buffer
			reader := metric.NewManualReader()
			o := withStat(c.do)
			o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			o.MeterProvider = metric.NewMeterProvider(metric.WithReader(reader))
			p := pipeline(t, o)

			res, err := p.Via(call.MCP, "req-7").CallJSON(context.Background(), op.WorkbenchStatOp, []byte(c.args))
			if got := reasonOf(err); got != c.want {
				t.Fatalf("reason %q (%v), want %q", got, err, c.want)
			}
			if (res != nil) != (c.want == "") {
				t.Errorf("result %v beside reason %q", res, c.want)
			}
			outcome := string(c.want)
			if outcome == "" {
				outcome = "ok"
			}
			if got := measured(t, reader); got != "workbench.stat mcp "+outcome+" 1" {
				t.Errorf("measured %q", got)
			}
			if c.want == "" {
				return
			}
			public := call.PublicOf(op.WorkbenchStatOp, err)
			for _, secret := range []string{"/srv", "secret", "index out", "*fault", "outer"} {
				if strings.Contains(public.Message, secret) || strings.Contains(string(public.Details), secret) {
					t.Errorf("public %+v tells %q", public, secret)
				}
			}
			if internal := c.want == op.ReasonInternal; internal != strings.Contains(logged.String(), "request_id=req-7") {
				t.Errorf("log for reason %s: %s", c.want, &logged)
			}
		})
	}
}

// measured renders the one data point of the duration histogram.
func measured(t *testing.T, reader *metric.ManualReader) string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			h, ok := m.Data.(metricdata.Histogram[float64])
			if !ok {
				continue
			}
			for _, p := range h.DataPoints {
				get := func(k string) string {
					v, _ := p.Attributes.Value("operation")
					if k != "operation" {
						for _, kv := range p.Attributes.ToSlice() {
							if string(kv.Key) == k {
								v = kv.Value
							}
						}
					}
					return v.AsString()
				}
				out = append(out, fmt.Sprintf("%s %s %s %d", get("operation"), get("protocol"), get("outcome"), p.Count))
			}
		}
	}
	return strings.Join(out, "; ")
}

// Invariant 3, and the shape of each envelope.
func TestEnvelopes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("x", 3600))
	err := fault.New(op.ReasonWBNotFound, "no \"such\"\nfile").With("path", "outputs/ä.txt").With("internal_key", "hidden").With("path", "outputs/ü.txt")
	for area, want := range map[op.Area]string{
		op.AreaWorkbench: `{"code":"NotFound","details":{"path":"outputs/ü.txt"},"message":"no \"such\"\nfile","retryable":false,"status":"error"}`,
		op.AreaOperator:  `{"error":{"code":"runtime_unavailable","message":"` + op.ReasonInternal.Face().Text + `"},"generated_at":"2026-01-02T02:04:05Z","ok":false}`,
	} {
		got := string(call.AppendError(nil, area, call.PublicIn(area, err), now))
		if got != want {
			t.Errorf("%v envelope\n%s\nwant\n%s", area, got, want)
		}
	}
	jobs := string(call.AppendError(nil, op.AreaJobs, call.PublicIn(op.AreaJobs, fault.New(op.ReasonInvalidArguments, "bad")), now))
	if want := `{"code":"INVALID_REQUEST","detail":"bad","message":"bad","retryable":false}`; jobs != want {
		t.Errorf("jobs envelope %s, want %s", jobs, want)
	}
}

func TestPublicMessagesAreBoundedAndValid(t *testing.T) {
	long := strings.Repeat("ü", int(op.LimitMaxErrorMessageBytes)) + "\xff"
	p := call.PublicIn(op.AreaWorkbench, fault.New(op.ReasonWBNotFound, long))
	if len(p.Message) > int(op.LimitMaxErrorMessageBytes) || !strings.HasPrefix(long, p.Message) {
		t.Errorf("message of %d bytes", len(p.Message))
	}
	p = call.PublicIn(op.AreaWorkbench, fault.New(op.Reason("NEVER_REGISTERED"), "tells a secret"))
	if p.Reason != op.ReasonInternal || p.Code != "Internal" || strings.Contains(p.Message, "secret") {
		t.Errorf("an unregistered reason left as %+v", p)
	}
}

// A remote error is passed on word for word, also with a code that this build does not know.
func TestRemoteErrorsPassThrough(t *testing.T) {
	theirs := call.Public{Reason: op.ReasonInternal, Code: "Novel", Message: "from a newer server", Retryable: true, Details: []byte(`{"a":1}`), HTTPStatus: 499}
	p := pipeline(t, call.Options{Invoke: func(context.Context, *op.Descriptor, op.Request) (op.Result, error) {
		return nil, &call.Remote{Public: theirs}
	}})
	_, err := p.Via(call.MCPStdio, "").CallJSON(context.Background(), op.WorkbenchGrepOp, []byte(`{"id":"a","pattern":"x","recursive":true}`))
	got := call.PublicOf(op.WorkbenchGrepOp, err)
	if got.Code != "Novel" || got.Message != theirs.Message || !got.Retryable || string(got.Details) != `{"a":1}` {
		t.Errorf("passed on as %+v", got)
	}
}

// Invariant 4: principal, deadline, request id; and the end.
func TestWhatAnOperationRunsWith(t *testing.T) {
	var seen context.Context
	o := withStat(func(ctx context.Context, _ *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
		who, ok := actor.From(ctx)
		if !ok || who.User != "1" {
			t.Errorf("principal %+v, %v", who, ok)
		}
		if d, ok := ctx.Deadline(); !ok || time.Until(d) > 5*time.Second {
			t.Errorf("deadline %v, %v", d, ok)
		}
		if call.RequestID(ctx) != "abc" {
			t.Errorf("request id %q", call.RequestID(ctx))
		}
		if ctx.Err() != nil {
			t.Errorf("the context is over already: %v", ctx.Err())
		}
		seen = ctx
		return &op.WorkbenchStatResult{}, nil
	})
	o.Principal = actor.Principal{User: "1"}
	o.Timeout = 5 * time.Second
	p := pipeline(t, o)
	if _, err := p.Via(call.HTTP, "").Call(call.WithRequestID(context.Background(), "abc"), op.WorkbenchStatOp, &op.WorkbenchStatRequest{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if seen.Err() == nil {
		t.Error("the context outlives the call")
	}
	select {
	case <-seen.Done():
	default:
		t.Error("Done, first asked for after the call, is still open")
	}
}

func TestDeadlineEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withStat(func(ctx context.Context, _ *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
			return nil, child.Err()
		})
		o.Timeout = time.Minute
		p := pipeline(t, o)
		start := time.Now()
		_, err := p.Via(call.HTTP, "").Call(context.Background(), op.WorkbenchStatOp, &op.WorkbenchStatRequest{ID: "a"})
		if reasonOf(err) != op.ReasonDeadlineExceeded || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		// The caller's own deadline wins when it is earlier.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start = time.Now()
		_, err = p.Via(call.HTTP, "").Call(ctx, op.WorkbenchStatOp, &op.WorkbenchStatRequest{ID: "a"})
		if reasonOf(err) != op.ReasonDeadlineExceeded || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestDeadlineIsSeenWithoutATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withStat(func(ctx context.Context, _ *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
			time.Sleep(2 * time.Second)
			return nil, ctx.Err()
		})
		o.Timeout = time.Second
		_, err := pipeline(t, o).Via(call.HTTP, "").Call(context.Background(), op.WorkbenchStatOp, &op.WorkbenchStatRequest{ID: "a"})
		if reasonOf(err) != op.ReasonDeadlineExceeded {
			t.Errorf("an operation that polls Err past its deadline: %v", err)
		}
	})
}

func TestUnbuiltAndUnservedOperations(t *testing.T) {
	p := pipeline(t, call.Options{API: &op.API{}})
	_, err := p.Via(call.HTTP, "").CallJSON(context.Background(), op.WorkbenchStatOp, []byte(`{"id":"a"}`))
	if reasonOf(err) != op.ReasonUnimplemented {
		t.Errorf("an area that is not served: %v", err)
	}
	p = pipeline(t, withStat(nil))
	for _, d := range op.Descriptors {
		if d.Built || d.Decode == nil {
			continue
		}
		_, err := p.Via(call.HTTP, "").Call(context.Background(), d, d.New())
		if reasonOf(err) != op.ReasonUnimplemented {
			t.Errorf("%s is not built and answers %v", d.ID, err)
		}
	}
}

// A broken connection is the server's own signal: it passes through, counted.
func TestAbortPassesThrough(t *testing.T) {
	reader := metric.NewManualReader()
	o := withStat(func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
		panic(http.ErrAbortHandler)
	})
	o.MeterProvider = metric.NewMeterProvider(metric.WithReader(reader))
	p := pipeline(t, o)
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("the abort did not pass through")
		}
		if got := measured(t, reader); got != "workbench.stat http CANCELLED 1" {
			t.Errorf("measured %q", got)
		}
	}()
	p.Via(call.HTTP, "").Call(context.Background(), op.WorkbenchStatOp, &op.WorkbenchStatRequest{ID: "a"})
}

func TestSpanPerCall(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	o := withStat(func(ctx context.Context, _ *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
		if !trace.SpanFromContext(ctx).SpanContext().IsValid() {
			t.Error("no span inside the operation")
		}
		return nil, io.ErrUnexpectedEOF
	})
	o.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	pipeline(t, o).Via(call.GRPC, "").Call(context.Background(), op.WorkbenchStatOp, &op.WorkbenchStatRequest{ID: "a"})
	ended := spans.Ended()
	if len(ended) != 1 || ended[0].Name() != "workbench.stat" || ended[0].SpanKind() != trace.SpanKindServer || ended[0].Status().Description != "INTERNAL" {
		t.Errorf("spans %v", ended)
	}
}

func TestRequestIDs(t *testing.T) {
	ids := call.NewIDs()
	if a, b := ids.Next(), ids.Next(); a == b || a == "" {
		t.Errorf("two ids: %q and %q", a, b)
	}
	if got := ids.Accept("client-1.a:b_C"); got != "client-1.a:b_C" {
		t.Errorf("a good id was replaced by %q", got)
	}
	for _, bad := range []string{"", "a b", "a\nb", "ü", strings.Repeat("a", 129), `"`} {
		if got := ids.Accept(bad); got == bad {
			t.Errorf("id %q was accepted", bad)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	res := &op.WorkbenchStatResult{}
	o := withStat(func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) { return res, nil })
	o.MeterProvider = metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	p := pipeline(b, o)
	ctx := actor.With(context.Background(), actor.Principal{User: "1"})
	req := &op.WorkbenchStatRequest{ID: "a"}
	c := p.Via(call.HTTP, "id")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call(ctx, op.WorkbenchStatOp, req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRefusal(b *testing.B) {
	o := withStat(func(context.Context, *op.WorkbenchStatRequest) (*op.WorkbenchStatResult, error) {
		return nil, fault.New(op.ReasonWBNotFound, "").With("path", "outputs/a.txt")
	})
	o.MeterProvider = metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	p := pipeline(b, o)
	ctx := actor.With(context.Background(), actor.Principal{User: "1"})
	req := &op.WorkbenchStatRequest{ID: "a"}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		_, err := p.Via(call.HTTP, "id").Call(ctx, op.WorkbenchStatOp, req)
		buf = call.AppendError(buf[:0], op.AreaWorkbench, call.PublicOf(op.WorkbenchStatOp, err), time.Time{})
	}
}
