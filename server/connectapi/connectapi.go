// Package connectapi serves the operations over Connect, gRPC and gRPC-Web, with health and reflection.
//
// Invariants, cited by number in the tests:
//
//  1. Every refusal of an operation carries one sawhorse.common.v1.ErrorDetail, with the reason and the area's code.
//  2. A procedure that does not exist is answered in the protocol of the request, with the code unimplemented.
//  3. Whatever a handler throws becomes the code internal, and says nothing else.
//  4. What is wrong with a call around its message (time, compression, frames, size) is told as in 1, and no message is
//     inflated beyond the limit.
//  5. Messages of calls are held in the server's budget of memory until their call has ended.
package connectapi

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	bindconnect "github.com/sawhorse-dev/sawhorse/gen/bind/connect"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	commonv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/common/v1"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// compressFrom is the size from which answers are compressed for clients that accept it: below, the header costs more
// than the body saves.
const compressFrom = 1 << 10

// Options configure a Handler.
type Options struct {
	Pipeline *call.Pipeline
	// Budget bounds the memory of request messages together; nil means one of its own.
	Budget *body.Budget
	// MaxMessageBytes bounds a request message; 0 means op.LimitMaxCallBodyBytes.
	MaxMessageBytes int64
	// Logger gets what handlers throw. nil means none.
	Logger *slog.Logger
}

// Handler serves the procedures of the catalogue. It is safe for concurrent use.
type Handler struct {
	services []service
	health   *grpchealth.StaticChecker
	writer   *connect.ErrorWriter
	intake   *Intake
}

type service struct {
	prefix  string
	handler http.Handler
}

// HandlerOptions are the options of all our handlers: codecs, limits (0 means a server's default), compression, recovery,
// and our words for what the library reports of a call's context.
func HandlerOptions(maxMessageBytes int, words Words) []connect.HandlerOption {
	return handlerOptions(maxMessageBytes, words, slog.New(slog.DiscardHandler))
}

// Words are how an error of the runtime is told.
type Words func(area op.Area, err error) *connect.Error

// Detailed tells it as the product does, with its ErrorDetail.
func Detailed(area op.Area, err error) *connect.Error {
	cerr := asConnect(call.PublicIn(area, err))
	var own *refusal
	if errors.As(err, &own) {
		cerr = withCode(own.code, cerr.Message(), cerr.Details())
	}
	return cerr
}

// Plain tells it without, for services that are not the product's.
func Plain(area op.Area, err error) *connect.Error {
	cerr := Detailed(area, err)
	return withCode(cerr.Code(), cerr.Message(), nil)
}

func withCode(code connect.Code, message string, details []*connect.ErrorDetail) *connect.Error {
	err := connect.NewError(code, errors.New(message))
	for _, d := range details {
		err.AddDetail(d)
	}
	return err
}

func handlerOptions(maxMessageBytes int, words Words, log *slog.Logger) []connect.HandlerOption {
	if maxMessageBytes == 0 {
		maxMessageBytes = int(op.LimitMaxCallBodyBytes)
	}
	return []connect.HandlerOption{
		bindconnect.Options(),
		connect.WithCompression("gzip", newCapped(int64(maxMessageBytes), words), func() connect.Compressor { return gzip.NewWriter(io.Discard) }),
		connect.WithReadMaxBytes(maxMessageBytes),
		connect.WithCompressMinBytes(compressFrom),
		connect.WithInterceptors(connect.UnaryInterceptorFunc(ended(words))),
		connect.WithRecover(func(ctx context.Context, spec connect.Spec, _ http.Header, thrown any) error {
			log.LogAttrs(ctx, slog.LevelError, "panic in a handler", slog.String("procedure", spec.Procedure),
				slog.Any("panic", thrown), slog.String("stack", string(debug.Stack())))
			return asConnect(call.PublicIn(op.AreaWorkbench, fault.New(op.ReasonInternal, "")))
		}),
	}
}

// ended is for calls whose time is over before they begin: the library reports the context's error as it is.
func ended(words Words) func(connect.UnaryFunc) connect.UnaryFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			res, err := next(ctx, r)
			if err != nil && ctx.Err() != nil {
				var coded *connect.Error
				if !errors.As(err, &coded) {
					err = words(areaOf(r.Spec().Procedure), ctx.Err())
				}
			}
			return res, err
		}
	}
}

// maxProbeBytes bounds a message of the health and reflection services, which are small and in no budget.
const maxProbeBytes = 64 << 10

// New makes a handler.
func New(o Options) *Handler {
	if o.Budget == nil {
		o.Budget = body.NewBudget(0)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	options := handlerOptions(int(o.MaxMessageBytes), Detailed, o.Logger)
	h := &Handler{writer: connect.NewErrorWriter(options...), intake: NewIntake(o.Budget, o.MaxMessageBytes, Detailed)}
	c := caller{o.Pipeline}
	bindconnect.Mount(h.mount, c, c.fail, options...)
	options = handlerOptions(maxProbeBytes, Detailed, o.Logger)
	names := bindconnect.Services()
	h.health = grpchealth.NewStaticChecker(names...)
	h.mount(grpchealth.NewHandler(h.health, options...))
	reflector := grpcreflect.NewStaticReflector(append([]string{grpchealth.HealthV1ServiceName}, names...)...)
	h.mount(grpcreflect.NewHandlerV1(reflector, options...))
	h.mount(grpcreflect.NewHandlerV1Alpha(reflector, options...))
	return h
}

func (h *Handler) mount(prefix string, handler http.Handler) {
	h.services = append(h.services, service{prefix, handler})
}

// Match reports whether a path belongs to one of the services.
func (h *Handler) Match(path string) bool { return h.serviceOf(path) != nil }

func (h *Handler) serviceOf(path string) http.Handler {
	for i := range h.services {
		if strings.HasPrefix(path, h.services[i].prefix) {
			return h.services[i].handler
		}
	}
	return nil
}

// ServeHTTP answers a request for one of the services.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := h.serviceOf(r.URL.Path)
	_, ours := procedures[r.URL.Path]
	switch {
	case handler == nil || strings.HasPrefix(r.URL.Path, "/sawhorse.") && !ours:
		h.Fail(w, r, op.AreaWorkbench, fault.New(op.ReasonNotFoundRoute, "No procedure of this name is served."))
	case ours:
		h.intake.Serve(w, r, handler)
	default:
		handler.ServeHTTP(w, r)
	}
}

var procedures = func() map[string]op.Area {
	m := map[string]op.Area{}
	for _, d := range op.Descriptors {
		if d.ConnectProcedure != "" {
			m[d.ConnectProcedure] = d.Area
		}
	}
	return m
}()

func areaOf(procedure string) op.Area {
	if area, ok := procedures[procedure]; ok {
		return area
	}
	return op.AreaWorkbench
}

// Fail answers with err in the protocol of the request, as far as it has one that can carry an error.
func (h *Handler) Fail(w http.ResponseWriter, r *http.Request, area op.Area, err error) {
	public := call.PublicIn(area, err)
	cerr := asConnect(public)
	if h.writer.IsSupported(r) {
		_ = h.writer.Write(w, r, cerr) // the only error is a client that left
		return
	}
	w.Header()["X-Content-Type-Options"] = []string{"nosniff"}
	http.Error(w, public.Message, public.HTTPStatus)
}

// Drain makes the health service answer that nothing is served any longer.
func (h *Handler) Drain() {
	for _, name := range append([]string{""}, bindconnect.Services()...) {
		h.health.SetStatus(name, grpchealth.StatusNotServing)
	}
}

// caller is the pipeline as the generated handlers see it.
type caller struct{ p *call.Pipeline }

// via finds out on which of the three protocols a call came, and what it is called.
func (c caller) via(ctx context.Context) call.Caller {
	protocol := call.Connect
	var id string
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		switch info.Peer().Protocol {
		case connect.ProtocolGRPC:
			protocol = call.GRPC
		case connect.ProtocolGRPCWeb:
			protocol = call.GRPCWeb
		}
		if ids := info.RequestHeader()["X-Request-Id"]; len(ids) > 0 {
			id = ids[0]
		}
	}
	return c.p.Via(protocol, id)
}

// Call implements bindconnect.Caller.
func (c caller) Call(ctx context.Context, d *op.Descriptor, req op.Request) (op.Result, error) {
	return c.via(ctx).Call(ctx, d, req)
}

// fail turns an error into what the client gets. The decoder's refusals have not been observed yet; they are here.
func (c caller) fail(ctx context.Context, d *op.Descriptor, err error) error {
	if inv, ok := err.(*op.Invalid); ok {
		err = c.via(ctx).Refuse(ctx, d, call.Invalid(d, inv))
	}
	return asConnect(call.PublicOf(d, err))
}

// asConnect is a public error as Connect, gRPC and gRPC-Web carry it.
func asConnect(p call.Public) *connect.Error {
	err := connect.NewError(codeOf(p.Connect), errors.New(p.Message))
	detail, derr := connect.NewErrorDetail(&commonv1.ErrorDetail{
		Reason: string(p.Reason), Code: p.Code, Message: p.Message, Retryable: p.Retryable, DetailsJson: string(p.Details),
	})
	if derr == nil {
		err.AddDetail(detail)
	}
	return err
}

var codesByName = func() map[string]connect.Code {
	m := map[string]connect.Code{}
	for c := connect.CodeCanceled; c <= connect.CodeUnauthenticated; c++ {
		m[c.String()] = c
	}
	return m
}()

// codeOf finds a Connect code by its name; one that does not exist is unknown.
func codeOf(name string) connect.Code {
	if c, ok := codesByName[name]; ok {
		return c
	}
	return connect.CodeUnknown
}
