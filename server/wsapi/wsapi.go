package wsapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	bindws "github.com/sawhorse-dev/sawhorse/gen/bind/ws"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/gen/ws"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

const (
	// pingEvery is how often the server says that it is there.
	pingEvery = 25 * time.Second
	// deadAfter is how long a peer may leave a protocol ping unanswered.
	deadAfter = 45 * time.Second
	// lookEvery is how often a frame that is being read is looked at.
	lookEvery = 10 * time.Second
	// writeWithin is how long one frame may take to be taken by the peer.
	writeWithin = 30 * time.Second
	// rateLimit frames may come within rateWindow.
	rateLimit  = 200
	rateWindow = time.Second
	// maxCalls run at one time for one connection; reading waits for the next to end.
	maxCalls = 32
	// outboxSize frames may wait to be written before the peer counts as stalled.
	outboxSize = 256
	// absurd is how many times over the limit a frame may be and still only be refused: more is a flood.
	absurd = 4
	// DefaultMaxConnections bounds the connections of one server.
	DefaultMaxConnections = 1024
)

// Options configure a Handler.
type Options struct {
	Pipeline *call.Pipeline
	// Clock drives pings and the rate limit.
	Clock clock.Clock
	// Budget bounds the memory of inbound frames together; nil means one of its own.
	Budget *body.Budget
	// MaxFrameBytes bounds an inbound frame; 0 means op.LimitMaxWebsocketFrameBytes.
	MaxFrameBytes int64
	// MaxConnections bounds the connections; 0 means DefaultMaxConnections.
	MaxConnections int
	Logger         *slog.Logger
}

// Handler serves the WebSocket. It is safe for concurrent use.
type Handler struct {
	o Options

	mu       sync.Mutex
	conns    map[*conn]struct{}
	draining bool
	done     sync.WaitGroup
}

// New makes a handler.
func New(o Options) *Handler {
	if o.Budget == nil {
		o.Budget = body.NewBudget(0)
	}
	if o.MaxFrameBytes == 0 {
		o.MaxFrameBytes = op.LimitMaxWebsocketFrameBytes
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = DefaultMaxConnections
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Handler{o: o, conns: map[*conn]struct{}{}}
}

// ErrFull says that no more connections are taken at the moment.
var ErrFull = fault.New(op.ReasonUnavailable, "")

// ServeHTTP upgrades the request and serves the connection until it closes. Host and Origin have been checked.
// The error is one of admission; nothing has been written then.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	c := &conn{h: h, binary: true, out: make(chan frame, outboxSize), calls: make(chan struct{}, maxCalls)}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(r.Context()))
	h.mu.Lock()
	if h.draining || len(h.conns) >= h.o.MaxConnections {
		h.mu.Unlock()
		return ErrFull
	}
	h.conns[c] = struct{}{}
	h.done.Add(1)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.conns, c)
		h.mu.Unlock()
		h.done.Done()
	}()
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil // Accept has answered
	}
	h.mu.Lock()
	c.socket = socket
	h.mu.Unlock()
	c.serve()
	return nil
}

// Drain closes every connection after what is due has been sent, and waits for that, at most as long as ctx lasts.
func (h *Handler) Drain(ctx context.Context) {
	h.mu.Lock()
	h.draining = true
	for c := range h.conns {
		c.cancel(errDraining)
	}
	h.mu.Unlock()
	gone := make(chan struct{})
	go func() { h.done.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-ctx.Done():
		h.mu.Lock()
		defer h.mu.Unlock()
		for c := range h.conns {
			if c.socket != nil {
				_ = c.socket.CloseNow() // it is closed or it was broken
			}
		}
	}
}

// closeError is why a connection ends.
type closeError struct {
	code   websocket.StatusCode
	reason string
}

func (e *closeError) Error() string { return e.reason }

var (
	errDraining = &closeError{websocket.StatusServiceRestart, "the server is stopping"}
	errFlood    = &closeError{websocket.StatusPolicyViolation, "too many frames per second"}
	errStalled  = &closeError{websocket.StatusPolicyViolation, "frames are not taken"}
	errAbsurd   = &closeError{websocket.StatusMessageTooBig, "a frame is far over the limit"}
	errSlow     = &closeError{websocket.StatusPolicyViolation, "a frame comes too slowly"}
	errMemory   = &closeError{websocket.StatusTryAgainLater, "there is no memory for a frame of this size"}
	errUnmasked = &closeError{websocket.StatusProtocolError, "a frame is not masked"}
	errLost     = &closeError{websocket.StatusGoingAway, "pings are not answered"}
)

// frame is one outbound frame, encoded.
type frame struct {
	kind websocket.MessageType
	data []byte
}

// conn is one connection: a reader, a writer, a heart, the calls in flight, and one place where it ends.
type conn struct {
	h      *Handler
	socket *websocket.Conn
	// ctx ends when the connection is to end; its cause says why. It is not the context of reads and writes: ending
	// those would break the connection before the reason is out.
	ctx    context.Context
	cancel context.CancelCauseFunc
	calls  chan struct{} // one token per call in flight
	flight sync.WaitGroup

	mu      sync.Mutex // guards the following
	out     chan frame
	closing bool // no more calls are begun
	closed  bool // out is closed
	binary  bool // what the server writes

	begun    atomic.Int64 // when the frame that is being read began, in nanoseconds; 0 between frames
	received atomic.Int64 // bytes of it

	windowStart time.Time // of the reader
	windowCount int
}

func (c *conn) serve() {
	var helpers sync.WaitGroup
	helpers.Go(c.beat)
	helpers.Go(c.watch)
	helpers.Go(c.end)
	c.read()
	helpers.Wait()
}

// end waits for the connection's end and carries it out: calls in flight end, their answers go out, and then the peer
// is told why (invariant 5). The reader and the heart notice by themselves.
func (c *conn) end() {
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write()
	}()
	<-c.ctx.Done()
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.flight.Wait()
	c.mu.Lock()
	c.closed = true
	close(c.out)
	c.mu.Unlock()
	<-written
	var why *closeError
	if errors.As(context.Cause(c.ctx), &why) {
		_ = c.socket.Close(why.code, why.reason) // the peer may be gone already
		return
	}
	_ = c.socket.CloseNow()
}

// read takes frames until the connection ends or its context does.
func (c *conn) read() {
	c.socket.SetReadLimit(-1) // measured here, so that a large frame is refused and not the connection
	for {
		kind, buf, err := c.next()
		if err != nil {
			c.cancel(err)
			return
		}
		if !c.rateAllows() {
			if buf != nil {
				buf.Release()
			}
			c.cancel(errFlood)
			return
		}
		if buf == nil {
			c.frameError("invalid_frame", "The frame is larger than "+strconv.FormatInt(c.h.o.MaxFrameBytes, 10)+" bytes.")
			continue
		}
		if !c.handle(kind, buf) {
			buf.Release()
		}
	}
}

// next reads one frame into memory of the budget. It is nil when the frame was over the limit and has been passed over.
func (c *conn) next() (websocket.MessageType, *body.Buffer, error) {
	kind, r, err := c.socket.Reader(context.Background())
	if err != nil {
		if strings.Contains(err.Error(), "unmasked frame") {
			err = errUnmasked // the library closes for every other breach of the protocol, but not for this one
		}
		return 0, nil, err
	}
	c.received.Store(0)
	c.begun.Store(c.h.o.Clock.Now().UnixNano())
	defer c.begun.Store(0)
	in := &counted{r, &c.received}
	limit := c.h.o.MaxFrameBytes
	buf, err := c.h.o.Budget.Fill(io.LimitReader(in, limit+1), limit)
	switch {
	case err == nil:
		return kind, &buf, nil
	case fault.Is(err, op.ReasonUnavailable):
		return 0, nil, errMemory
	case !fault.Is(err, op.ReasonBodyTooLarge):
		return 0, nil, err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(in, absurd*limit))
	if err != nil {
		return 0, nil, err
	}
	if n == absurd*limit {
		return 0, nil, errAbsurd
	}
	return kind, nil, nil
}

// counted counts what is read.
type counted struct {
	in io.Reader
	n  *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// watch gives up a peer that has begun a frame and stands still or trickles: it holds memory, or keeps the reader from passing over it.
// Between two frames a peer may be silent as long as it likes.
func (c *conn) watch() {
	timer := c.h.o.Clock.NewTimer(lookEvery)
	defer timer.Stop()
	var frame, had int64 // the frame that was seen last, and how much of it
	var moved time.Time  // when it was seen to have grown
	for {
		select {
		case <-c.ctx.Done():
			return
		case now := <-timer.C():
			received := c.received.Load() // before begun: those of an earlier frame may only make it look faster
			begun := c.begun.Load()
			if begun != frame || received != had {
				frame, had, moved = begun, received, now
			}
			if begun != 0 && (now.Sub(moved) >= body.Patience || body.TooSlow(time.Duration(now.UnixNano()-begun), received)) {
				c.cancel(errSlow)
				return
			}
			timer.Reset(lookEvery)
		}
	}
}

func (c *conn) rateAllows() bool {
	now := c.h.o.Clock.Now()
	if now.Sub(c.windowStart) >= rateWindow {
		c.windowStart, c.windowCount = now, 0
	}
	c.windowCount++
	return c.windowCount <= rateLimit
}

// handle answers one frame. It reports whether a call has taken the frame's memory over.
func (c *conn) handle(kind websocket.MessageType, buf *body.Buffer) (taken bool) {
	text := buf.Bytes()
	if kind == websocket.MessageBinary {
		var err error
		if text, err = appendJSON(nil, text); err != nil {
			c.frameError("invalid_frame", "The frame is not one MessagePack map: "+err.Error()+".")
			return false
		}
	}
	env, inv := ws.ReadEnvelope(text)
	if inv != nil {
		c.frameError("invalid_frame", inv.Text)
		return false
	}
	f, inv := bindws.Decode(text)
	if inv != nil {
		word := "invalid_command"
		if string(env.Command) == "set_mode" {
			word = "mode must be binary or text"
		}
		c.frameError(word, inv.Text)
		return false
	}
	switch f := f.(type) {
	case *bindws.Call:
		return c.call(f, buf)
	case *bindws.Unknown:
		if env.RequestID != "" && len(env.RequestID) <= int(op.LimitMaxRequestIDChars)*4 {
			c.rpcError(env.RequestID, string(env.Command), fault.New(op.ReasonInvalidArguments, "There is no command of this name."))
			return false
		}
		c.frameError("Unknown command", "")
	case *ws.SetModeCommand:
		c.setBinary(f.Data.Mode == "binary")
		c.sendJSON((&ws.SetModeAck{Message: "mode set to " + f.Data.Mode, Mode: f.Data.Mode}).AppendJSON(nil))
	case *ws.Ping:
		ts := unixSeconds(c.h.o.Clock.Now())
		c.sendJSON((&ws.Pong{Ts: &ts}).AppendJSON(nil))
	case *ws.Pong:
		// Taken note of by having been read at all.
	}
	return false
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// call carries out a command beside the reader, within the bound of calls in flight. It reports whether it has begun; it
// gives the frame's memory back at its end.
func (c *conn) call(f *bindws.Call, buf *body.Buffer) (taken bool) {
	if f.RequestID == "" {
		c.frameError("request_id is required for RPC commands", "")
		return false
	}
	caller := c.h.o.Pipeline.Via(call.WebSocket, "")
	if f.Refused != nil {
		c.rpcError(f.RequestID, f.Op.WSCommand, caller.Refuse(c.ctx, f.Op, call.Invalid(f.Op, f.Refused)))
		return false
	}
	select {
	case c.calls <- struct{}{}:
	case <-c.ctx.Done():
		return false
	}
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		return false
	}
	c.flight.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.flight.Done()
		defer buf.Release()
		defer func() { <-c.calls }()
		// A call that has begun ends, and its answer is sent, also when the server drains (invariant 5).
		res, err := caller.Call(context.WithoutCancel(c.ctx), f.Op, f.Request)
		if err != nil {
			c.rpcError(f.RequestID, f.Op.WSCommand, err)
			return
		}
		c.sendJSON(bindws.AppendResult(nil, f.Op, f.RequestID, res))
	}()
	return true
}

func (c *conn) rpcError(requestID, command string, err error) {
	p := call.PublicIn(op.AreaJobs, err)
	c.sendJSON((&ws.ErrorResponse{RequestID: requestID, Command: command,
		Error: ws.RpcError{Code: p.Code, Message: p.Message, Retryable: p.Retryable}}).AppendJSON(nil))
}

func (c *conn) frameError(word, message string) {
	f := ws.FrameError{Error: word}
	if message != "" {
		f.Message = &message
	}
	c.sendJSON(f.AppendJSON(nil))
}

func (c *conn) setBinary(binary bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.binary = binary
}

// sendJSON encodes a frame in the connection's mode and puts it into the outbox. A peer that leaves the outbox full is
// stalled, and closed. What comes after the end is dropped.
func (c *conn) sendJSON(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	f := frame{websocket.MessageText, text}
	if c.binary {
		data, err := appendMsgpack(nil, text)
		if err != nil {
			c.h.o.Logger.LogAttrs(c.ctx, slog.LevelError, "a frame of our own cannot be encoded", slog.String("cause", err.Error()))
			return
		}
		f = frame{websocket.MessageBinary, data}
	}
	select {
	case c.out <- f:
	default:
		c.cancel(errStalled)
	}
}

// write sends what is in the outbox, to its end.
func (c *conn) write() {
	for f := range c.out {
		ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
		err := c.socket.Write(ctx, f.kind, f.data)
		cancel()
		if err != nil {
			c.cancel(errStalled)
			for range c.out {
				// Nobody takes them any longer.
			}
			return
		}
	}
}

// beat sends pings and gives a peer up that answers none.
func (c *conn) beat() {
	timer := c.h.o.Clock.NewTimer(pingEvery)
	defer timer.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case now := <-timer.C():
			ts := unixSeconds(now)
			c.sendJSON((&ws.Ping{Ts: &ts}).AppendJSON(nil))
			ctx, cancel := context.WithTimeout(context.Background(), deadAfter)
			err := c.socket.Ping(ctx)
			cancel()
			if err != nil && c.ctx.Err() == nil {
				c.cancel(errLost)
				return
			}
			timer.Reset(pingEvery)
		}
	}
}
