package call

import (
	"context"
	"sync"
	"time"
)

// Protocol is how a call arrived.
type Protocol uint8

// The protocols.
const (
	HTTP Protocol = iota
	Connect
	GRPC
	GRPCWeb
	MCP
	MCPStdio
	WebSocket
	Local
	protocolCount
)

var protocolNames = [protocolCount]string{"http", "connect", "grpc", "grpcweb", "mcp", "mcp_stdio", "websocket", "local"}

// String is the protocol's word in metrics and logs.
func (p Protocol) String() string {
	if p < protocolCount {
		return protocolNames[p]
	}
	return "unknown"
}

// callContext is the context of one call: the caller's, with a deadline and a request id.
//
// Most operations never wait on Done, so the deadline's timer is made when Done is first asked for, and not before.
type callContext struct {
	context.Context
	deadline  time.Time
	requestID string

	mu     sync.Mutex
	inner  context.Context // armed by Done; nil until then
	cancel context.CancelFunc
	ended  bool
}

type requestIDKey struct{}

// RequestID is the id of the call that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(*callContext)
	if id != nil {
		return id.requestID
	}
	s, _ := ctx.Value(carriedIDKey{}).(string)
	return s
}

type carriedIDKey struct{}

// WithRequestID returns a context that carries a request id to the pipeline, for adapters whose callers know no other way.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, carriedIDKey{}, id)
}

// newCallContext gives ctx a deadline: its own one when that is earlier.
func newCallContext(ctx context.Context, deadline time.Time, requestID string) *callContext {
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	return &callContext{Context: ctx, deadline: deadline, requestID: requestID}
}

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Done implements context.Context. Its first call arms the timer.
func (c *callContext) Done() <-chan struct{} { return c.arm().Done() }

func (c *callContext) arm() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithDeadline(c.Context, c.deadline)
		if c.ended {
			c.cancel()
		}
	}
	return c.inner
}

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	inner, ended := c.inner, c.ended
	c.mu.Unlock()
	if inner != nil {
		return inner.Err()
	}
	if err := c.Context.Err(); err != nil {
		return err
	}
	if ended {
		return context.Canceled
	}
	if !time.Now().Before(c.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context. Everything but the request id comes from the armed context when there is one, so
// that the standard library recognises it as a parent and starts no goroutine for a child.
func (c *callContext) Value(key any) any {
	if _, ok := key.(requestIDKey); ok {
		return c
	}
	c.mu.Lock()
	inner := c.inner
	c.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return c.Context.Value(key)
}

// end cancels the context: the call is over.
func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.cancel != nil {
		c.cancel()
	}
}
