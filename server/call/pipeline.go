package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Invoker carries a validated request out. The error may be anything; the pipeline gives it a reason.
type Invoker func(ctx context.Context, d *op.Descriptor, req op.Request) (op.Result, error)

// Options configure a Pipeline.
type Options struct {
	// API is what the calls reach. An area that is nil is answered with UNIMPLEMENTED.
	API *op.API
	// Invoke replaces API: every call goes to it, also those of operations that this build does not have.
	Invoke Invoker
	// Principal is who calls when the context does not say.
	Principal actor.Principal
	// Timeout is the deadline of a call that brings none; 0 means op.LimitRequestTimeoutSeconds.
	Timeout time.Duration
	// Logger gets internal errors and, at debug level, every call. nil means none.
	Logger *slog.Logger
	// MeterProvider gets the metrics; nil means none.
	MeterProvider metric.MeterProvider
	// TracerProvider gets one server span per call; nil means no tracing.
	TracerProvider trace.TracerProvider
}

// Pipeline carries calls of all protocols to the operations. It is safe for concurrent use.
type Pipeline struct {
	api       *op.API
	invoke    Invoker
	served    [4]bool // by area; all true when invoke is set
	principal actor.Principal
	timeout   time.Duration
	log       *slog.Logger
	metrics   *metrics
	tracer    trace.Tracer
	ids       *IDs
}

// New makes a pipeline.
func New(o Options) (*Pipeline, error) {
	p := &Pipeline{api: o.API, invoke: o.Invoke, principal: o.Principal, timeout: o.Timeout, log: o.Logger, ids: NewIDs()}
	if p.timeout == 0 {
		p.timeout = time.Duration(op.LimitRequestTimeoutSeconds) * time.Second
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Invoke != nil:
		p.served = [4]bool{true, true, true, true}
	case o.API != nil:
		p.served = [4]bool{op.AreaWorkbench: o.API.Workbench != nil, op.AreaJobs: o.API.Jobs != nil,
			op.AreaOperator: o.API.Operator != nil, op.AreaStorage: o.API.Storage != nil}
	default:
		return nil, errors.New("call: neither an API nor an invoker")
	}
	provider := o.MeterProvider
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	var err error
	if p.metrics, err = newMetrics(provider); err != nil {
		return nil, fmt.Errorf("call: metrics: %w", err)
	}
	if o.TracerProvider != nil {
		p.tracer = o.TracerProvider.Tracer(Scope)
	}
	return p, nil
}

// IDs is the pipeline's source of request ids.
func (p *Pipeline) IDs() *IDs { return p.ids }

// Files is the raw body half of the API; nil when it is not served.
func (p *Pipeline) Files() op.Files {
	if p.api == nil {
		return nil
	}
	return p.api.Files
}

// Via returns the entry for calls of one protocol. requestID may be empty: the context's or a new one is taken then.
func (p *Pipeline) Via(protocol Protocol, requestID string) Caller {
	return Caller{p: p, protocol: protocol, requestID: requestID}
}

// Caller is the pipeline as one protocol, and perhaps one request, sees it. It is a small value; copy it freely.
type Caller struct {
	p         *Pipeline
	protocol  Protocol
	requestID string
}

// Call carries out a request that has been validated. An error it returns always carries a reason.
func (c Caller) Call(ctx context.Context, d *op.Descriptor, req op.Request) (op.Result, error) {
	return c.run(ctx, d, req, nil)
}

// CallJSON decodes and validates args and carries the request out; a malformed request is observed like any other
// refusal. An error it returns always carries a reason.
func (c Caller) CallJSON(ctx context.Context, d *op.Descriptor, args []byte) (op.Result, error) {
	return c.run(ctx, d, nil, args)
}

// Stream runs one streaming operation under the same observation, without the default deadline: a body may take as
// long as its bytes keep coming. An error it returns always carries a reason, which has been logged when it is INTERNAL.
func (c Caller) Stream(ctx context.Context, d *op.Descriptor, do func(ctx context.Context) error) error {
	return c.observe(ctx, d, time.Time{}, func(ctx context.Context) error { return do(ctx) })
}

// Refuse observes a call that was refused before it could be carried out.
func (c Caller) Refuse(ctx context.Context, d *op.Descriptor, err error) *fault.Error {
	e := fault.From(err)
	c.p.metrics.record(ctx, d, c.protocol, e.Reason, 0)
	if e.Reason == op.ReasonInternal {
		c.p.logInternal(ctx, d, c, e)
	}
	return e
}

func (c Caller) run(ctx context.Context, d *op.Descriptor, req op.Request, args []byte) (res op.Result, err error) {
	err = c.observe(ctx, d, time.Now().Add(c.p.timeout), func(ctx context.Context) error {
		if req == nil {
			var inv *op.Invalid
			if req, inv = d.Decode(args); inv != nil {
				return Invalid(d, inv)
			}
		}
		var err error
		res, err = c.invoke(ctx, d, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

func (c Caller) invoke(ctx context.Context, d *op.Descriptor, req op.Request) (op.Result, error) {
	p := c.p
	if p.invoke != nil {
		return p.invoke(ctx, d, req)
	}
	if !d.Built || !p.served[d.Area] {
		return nil, fault.New(op.ReasonUnimplemented, "")
	}
	return d.Invoke(ctx, p.api, req)
}

// observe runs do as one call of d: span, metrics, recovery, principal, deadline (none when zero).
func (c Caller) observe(ctx context.Context, d *op.Descriptor, deadline time.Time, do func(context.Context) error) (err error) {
	p := c.p
	start := time.Now()
	id := c.requestID
	if id == "" {
		if id = RequestID(ctx); id == "" {
			id = p.ids.Next()
		}
	}
	if _, ok := actor.From(ctx); !ok {
		ctx = actor.With(ctx, p.principal)
	}
	var span trace.Span
	if p.tracer != nil {
		ctx, span = p.tracer.Start(ctx, d.ID, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
			attribute.String("sawhorse.protocol", c.protocol.String()), attribute.String("sawhorse.request_id", id)))
	}
	if deadline.IsZero() {
		ctx = WithRequestID(ctx, id)
	} else {
		cc := newCallContext(ctx, deadline, id)
		defer cc.end()
		ctx = cc
	}
	p.metrics.inFlight.Add(1)
	c.requestID = id
	defer func() {
		if thrown := recover(); thrown != nil {
			if thrown == http.ErrAbortHandler {
				c.finish(ctx, d, span, start, fault.New(op.ReasonCancelled, ""))
				panic(thrown)
			}
			err = fault.New(op.ReasonInternal, "").Because(&panicError{value: thrown, stack: debug.Stack()})
		}
		if err != nil {
			e := fault.From(err)
			c.finish(ctx, d, span, start, e)
			if _, remote := err.(*Remote); !remote {
				err = e
			}
			return
		}
		c.finish(ctx, d, span, start, nil)
	}()
	return do(ctx)
}

// finish counts, ends the span and logs. e is nil for a success.
func (c Caller) finish(ctx context.Context, d *op.Descriptor, span trace.Span, start time.Time, e *fault.Error) {
	p := c.p
	took := time.Since(start)
	p.metrics.inFlight.Add(-1)
	var reason op.Reason
	if e != nil {
		reason = e.Reason
	}
	p.metrics.record(ctx, d, c.protocol, reason, took)
	if span != nil {
		if e != nil {
			span.SetAttributes(attribute.String("sawhorse.reason", string(reason)))
			if reason.Face().HTTPStatus >= 500 {
				span.SetStatus(codes.Error, string(reason))
			}
		}
		span.End()
	}
	if reason == op.ReasonInternal {
		p.logInternal(ctx, d, c, e)
	}
	if p.log.Enabled(ctx, slog.LevelDebug) {
		outcome := outcomeOK
		if reason != "" {
			outcome = string(reason)
		}
		p.log.LogAttrs(ctx, slog.LevelDebug, "call", slog.String("operation", d.ID), slog.String("protocol", c.protocol.String()),
			slog.String("request_id", c.requestID), slog.String("outcome", outcome), slog.Duration("took", took))
	}
}

func (p *Pipeline) logInternal(ctx context.Context, d *op.Descriptor, c Caller, e *fault.Error) {
	attrs := []slog.Attr{slog.String("operation", d.ID), slog.String("protocol", c.protocol.String()), slog.String("request_id", c.requestID)}
	var thrown *panicError
	switch {
	case errors.As(e.Cause, &thrown):
		attrs = append(attrs, slog.String("panic", fmt.Sprint(thrown.value)), slog.String("stack", string(thrown.stack)))
	case e.Cause != nil:
		attrs = append(attrs, slog.String("cause", e.Cause.Error()))
	}
	p.log.LogAttrs(ctx, slog.LevelError, "internal error", attrs...)
}

// panicError is what an operation threw. It is for the log only.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Invalid turns a decoder's refusal into an error with a reason. The refusal of a tool's arguments begins with the
// tool's name, on every protocol.
func Invalid(d *op.Descriptor, inv *op.Invalid) *fault.Error {
	text := inv.Text
	if d.MCPTool != "" {
		text = d.MCPTool + ": " + text
	}
	return fault.New(op.ReasonInvalidArguments, text).Because(inv)
}
