package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sawhorse-dev/sawhorse/server/body"
)

// lingering closes connections as HTTP/1.1 wants it (RFC 9112, 9.6). A request may be answered before its body has come:
// closing the connection then resets it, and the reset takes the answer with it that the client has not read yet. net/http
// sometimes ends the sending side first and waits for half a second; what the client sends meanwhile fills the buffers, and
// the reset comes all the same. Here it is read and thrown away, until the client has seen the answer, or has sent enough.
type lingering struct{ net.Listener }

// Accept implements net.Listener.
func (l lingering) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	switch c := conn.(type) {
	case *net.TCPConn:
		return &lingeringTCP{TCPConn: c, closing: newClosing(c)}, err
	case *net.UnixConn:
		return &lingeringUnix{UnixConn: c, closing: newClosing(c)}, err
	}
	return conn, err
}

// halfClosed is a connection that can say that nothing more is sent on it.
type halfClosed interface {
	net.Conn
	CloseWrite() error
}

// closing is how a connection ends.
type closing struct {
	conn halfClosed
	// sending says that the peer may be sending still when the connection is closed: before the first request, and after
	// one that has a body.
	sending atomic.Bool
	once    sync.Once
	err     error
}

func newClosing(c halfClosed) *closing {
	k := &closing{conn: c}
	k.sending.Store(true)
	return k
}

// end tells the peer that there is no more, and listens to it within the bounds. It is done once.
func (k *closing) end() error {
	k.once.Do(func() {
		k.err = k.conn.CloseWrite()
		if k.conn.SetReadDeadline(time.Now().Add(body.LingerFor)) == nil {
			_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(k.conn, body.LingerMost), make([]byte, 64<<10)) // whatever ends it, it is over
		}
	})
	return k.err
}

// close closes the connection without making its caller wait for the peer.
func (k *closing) close() error {
	if !k.sending.CompareAndSwap(true, false) {
		return k.conn.Close()
	}
	go func() {
		_ = k.end()
		_ = k.conn.Close() // nobody is left to be told
	}()
	return nil
}

type lingeringTCP struct {
	*net.TCPConn
	closing *closing
}

// CloseWrite is called by net/http when it is done with a connection whose peer it knows to be sending.
func (c *lingeringTCP) CloseWrite() error { return c.closing.end() }
func (c *lingeringTCP) Close() error      { return c.closing.close() }

type lingeringUnix struct {
	*net.UnixConn
	closing *closing
}

// CloseWrite: see lingeringTCP.
func (c *lingeringUnix) CloseWrite() error { return c.closing.end() }
func (c *lingeringUnix) Close() error      { return c.closing.close() }

type closingKey struct{}

// withClosing lets requests know how their connection ends.
func withClosing(ctx context.Context, conn net.Conn) context.Context {
	switch c := conn.(type) {
	case *lingeringTCP:
		return context.WithValue(ctx, closingKey{}, c.closing)
	case *lingeringUnix:
		return context.WithValue(ctx, closingKey{}, c.closing)
	}
	return ctx
}

// mayLinger notes whether the client of a request may be sending when its connection is closed. HTTP/2 and WebSocket have
// endings of their own.
func mayLinger(r *http.Request) {
	if k, ok := r.Context().Value(closingKey{}).(*closing); ok {
		k.sending.Store(r.ProtoMajor == 1 && r.ContentLength != 0)
	}
}
