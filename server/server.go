package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
	"github.com/sawhorse-dev/sawhorse/server/connectapi"
	"github.com/sawhorse-dev/sawhorse/server/httpapi"
	"github.com/sawhorse-dev/sawhorse/server/mcpapi"
	"github.com/sawhorse-dev/sawhorse/server/wsapi"
)

// Patience of the server with its peers.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute
	writeTimeout  = 90 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeaders    = 64 << 10
	// DefaultDrainTimeout is how long Serve waits for what was begun.
	DefaultDrainTimeout = 10 * time.Second
)

// Paths that are not the catalogue's.
const (
	MCPPath     = "/mcp/workbench"
	WSPath      = "/ws"
	MetricsPath = "/metrics"
	ownerPrefix = "/owner/"
)

// Options configure a Server. The zero value of a field means its default.
type Options struct {
	// API is what is served.
	API *op.API
	// Principal is who calls without credentials.
	Principal actor.Principal
	// Version is what the server says of itself.
	Version string
	// Clock defaults to the machine's.
	Clock clock.Clock
	// Logger gets structured logs; nil means none.
	Logger *slog.Logger
	// MeterProvider and TracerProvider get metrics and traces; nil means none.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
	// Metrics answers /metrics; nil means that there is no such path.
	Metrics http.Handler
	// AllowedHosts are names, beside those of this machine, that Host and Origin headers may carry.
	AllowedHosts []string
	// MaxBodyBytes bounds a raw body; default op.LimitDefaultMaxBodyBytes.
	MaxBodyBytes int64
	// MaxCallBytes bounds a call's body on every protocol; default op.LimitMaxCallBodyBytes.
	MaxCallBytes int64
	// BodyBudgetBytes bounds what call bodies hold of memory together; default body.DefaultBudget.
	BodyBudgetBytes int64
	// CallTimeout is the deadline of a call that brings none; default op.LimitRequestTimeoutSeconds.
	CallTimeout time.Duration
	// DrainTimeout bounds the end of Serve; default DefaultDrainTimeout.
	DrainTimeout time.Duration
	// OwnerRoutes answers below /owner/ on Unix sockets, which only the user can reach whose process this is; nil means
	// none. It is not a protocol of the product: it is how the commands of one machine work together.
	OwnerRoutes http.Handler
	// DisableMCPShortPath sends all of MCP through the SDK, for comparisons.
	DisableMCPShortPath bool
}

// Server is all protocols over one API. It is safe for concurrent use.
type Server struct {
	o        Options
	log      *slog.Logger
	guard    guard
	pipeline *call.Pipeline
	http     *httpapi.Handler
	connect  *connectapi.Handler
	mcp      *mcpapi.Runtime
	ws       *wsapi.Handler
	traces   propagation.TextMapPropagator // nil when nothing is traced

	draining context.Context
	drain    context.CancelFunc
}

// New wires the protocols. It fails when the API cannot be served whole, such as when a contract's tool is missing.
func New(o Options) (*Server, error) {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Version == "" {
		o.Version = "unknown"
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = op.LimitDefaultMaxBodyBytes
	}
	if o.MaxCallBytes == 0 {
		o.MaxCallBytes = op.LimitMaxCallBodyBytes
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	pipeline, err := call.New(call.Options{API: o.API, Principal: o.Principal, Timeout: o.CallTimeout, Logger: o.Logger,
		MeterProvider: o.MeterProvider, TracerProvider: o.TracerProvider})
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, log: o.Logger, guard: newGuard(o.AllowedHosts), pipeline: pipeline}
	s.draining, s.drain = context.WithCancel(context.Background())
	budget := body.NewBudget(o.BodyBudgetBytes)
	s.http = httpapi.New(httpapi.Options{Pipeline: pipeline, Budget: budget, Now: o.Clock.Now, MaxCallBytes: o.MaxCallBytes, MaxFileBytes: o.MaxBodyBytes})
	s.connect = connectapi.New(connectapi.Options{Pipeline: pipeline, Budget: budget, MaxMessageBytes: o.MaxCallBytes, Logger: o.Logger})
	profile := mcpapi.Workbench(pipeline, o.Version)
	profile.DisableFastPath = o.DisableMCPShortPath
	if s.mcp, err = mcpapi.New(profile, mcpapi.Options{Budget: budget, MaxMessageBytes: o.MaxCallBytes, Logger: o.Logger, Draining: s.draining}); err != nil {
		return nil, err
	}
	s.ws = wsapi.New(wsapi.Options{Pipeline: pipeline, Budget: budget, Clock: o.Clock, Logger: o.Logger})
	if o.TracerProvider != nil {
		s.traces = propagation.TraceContext{}
	}
	return s, nil
}

// Pipeline is where the server's calls go, for adapters that are not on its port.
func (s *Server) Pipeline() *call.Pipeline { return s.pipeline }

// MCP is the server's MCP runtime, for stdio.
func (s *Server) MCP() *mcpapi.Runtime { return s.mcp }

// Handler answers every request. It needs no listener: tests and the judge call it in memory.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	var theirs string
	if ids := r.Header["X-Request-Id"]; len(ids) > 0 {
		theirs = ids[0]
	}
	id := []string{s.pipeline.IDs().Accept(theirs)}
	r.Header["X-Request-Id"] = id
	w.Header()["X-Request-Id"] = id
	defer s.recover(w, r, id[0])
	mayLinger(r)
	path := r.URL.Path
	if err := s.guard.check(r); err != nil {
		s.fail(w, r, err)
		return
	}
	connect := isConnectPath(path)
	area := httpapi.AreaOf(path)
	if connect || path == MetricsPath {
		area = op.AreaWorkbench
	}
	allowOrigin(w, r, area)
	if r.Method == http.MethodOptions {
		preflight(w, r)
		return
	}
	if s.traces != nil {
		r = r.WithContext(s.traces.Extract(r.Context(), propagation.HeaderCarrier(r.Header)))
	}
	switch {
	case connect:
		s.serveConnect(w, r)
	case path == MCPPath:
		s.mcp.ServeHTTP(w, r)
	case path == WSPath:
		s.serveWebSocket(w, r)
	case s.o.OwnerRoutes != nil && strings.HasPrefix(path, ownerPrefix) && fromUnixSocket(r):
		s.o.OwnerRoutes.ServeHTTP(w, r)
	case path == MetricsPath && s.o.Metrics != nil:
		s.serveMetrics(w, r)
	default:
		s.http.ServeHTTP(w, r)
	}
}

func fromUnixSocket(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && local.Network() == "unix"
}

// isConnectPath reports whether a path has the form of a procedure of ours, or of the health and reflection services.
func isConnectPath(path string) bool {
	return strings.HasPrefix(path, "/sawhorse.") || strings.HasPrefix(path, "/grpc.")
}

// fail answers in the words of the path's protocol.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	path := r.URL.Path
	switch {
	case isConnectPath(path):
		s.connect.Fail(w, r, op.AreaWorkbench, err)
	case path == MCPPath:
		mcpapi.Fail(w, err)
	default:
		s.http.Fail(w, r, httpapi.AreaOf(path), err)
	}
}

// recover keeps a panic within its request (invariant 3).
func (s *Server) recover(w http.ResponseWriter, r *http.Request, id string) {
	thrown := recover()
	if thrown == nil {
		return
	}
	if thrown == http.ErrAbortHandler {
		panic(thrown)
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("request_id", id), slog.String("path", r.URL.Path),
		slog.Any("panic", thrown), slog.String("stack", string(debug.Stack())))
	if len(w.Header()["Content-Type"]) > 0 {
		// An answer was begun. Only a broken connection says that it is not whole.
		panic(http.ErrAbortHandler)
	}
	s.fail(w, r, fault.New(op.ReasonInternal, ""))
}

func (s *Server) serveConnect(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/grpc.") {
		// Watches last as long as the client likes, and end when the server drains.
		rc := http.NewResponseController(w)
		_ = rc.SetWriteDeadline(time.Time{}) // connections in memory may have none
		_ = rc.SetReadDeadline(time.Time{})
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.draining, cancel)()
		r = r.WithContext(ctx)
	}
	s.connect.ServeHTTP(w, r)
}

func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header()["Allow"] = []string{"GET, HEAD"}
		s.fail(w, r, fault.New(op.ReasonMethodNotAllowed, ""))
		return
	}
	s.o.Metrics.ServeHTTP(w, r)
}

func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header()["Allow"] = []string{http.MethodGet}
		s.fail(w, r, fault.New(op.ReasonMethodNotAllowed, ""))
		return
	}
	if err := s.ws.ServeHTTP(w, r); err != nil {
		s.fail(w, r, err)
	}
}

// Serve answers on all listeners until ctx ends, and then drains: what was begun is answered, streams and WebSockets
// are closed with a reason, and nothing new is taken. It returns nil after a drain, also one that ran out of time.
// Listeners are closed in any case.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	base := actor.With(context.Background(), s.o.Principal)
	hs := &http.Server{
		Handler: s.Handler(), Protocols: &protocols, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaders,
		BaseContext: func(net.Listener) context.Context { return base }, ConnContext: withClosing,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, len(listeners))
	var serving sync.WaitGroup
	for _, l := range listeners {
		serving.Go(func() {
			if err := hs.Serve(lingering{l}); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.stop(hs)
	serving.Wait()
	return err
}

// stop drains (invariant 4).
func (s *Server) stop(hs *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.DrainTimeout)
	defer cancel()
	s.log.LogAttrs(ctx, slog.LevelDebug, "draining", slog.Duration("at_most", s.o.DrainTimeout))
	s.connect.Drain()
	s.drain()
	var sockets sync.WaitGroup
	sockets.Go(func() { s.ws.Drain(ctx) })
	if err := hs.Shutdown(ctx); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "requests were cut off", slog.String("cause", err.Error()))
		_ = hs.Close() // everything that could be said has been said
	}
	sockets.Wait()
}
