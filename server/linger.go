package server

import (
	"io"
	"net"
	"time"
)

// Bounds of a lingering close: how long a peer that is still sending is listened to after its answer, and how much of what
// it sends is thrown away.
const (
	lingerFor  = 5 * time.Second
	lingerMost = 64 << 20
)

// lingering closes connections as HTTP/1.1 wants it (RFC 9112, 9.6). A request may be answered before its body has come:
// closing the connection then resets it, and the reset takes the answer with it that the client has not read yet. net/http
// ends the sending side first and waits for half a second; what the client sends meanwhile fills the buffers, and the reset
// comes all the same. Here it is read and thrown away, until the client has seen the answer, or has sent enough.
type lingering struct{ net.Listener }

// Accept implements net.Listener.
func (l lingering) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	switch c := conn.(type) {
	case *net.TCPConn:
		return lingeringTCP{c}, err
	case *net.UnixConn:
		return lingeringUnix{c}, err
	}
	return conn, err
}

type lingeringTCP struct{ *net.TCPConn }

// CloseWrite is called by net/http when it is done with a connection whose peer may be sending still, and at no other time.
func (c lingeringTCP) CloseWrite() error {
	err := c.TCPConn.CloseWrite()
	linger(c.TCPConn)
	return err
}

type lingeringUnix struct{ *net.UnixConn }

// CloseWrite: see lingeringTCP.
func (c lingeringUnix) CloseWrite() error {
	err := c.UnixConn.CloseWrite()
	linger(c.UnixConn)
	return err
}

// linger reads until the peer has closed its side too, within the bounds. Whoever closes the connection ends it.
func linger(c net.Conn) {
	if c.SetReadDeadline(time.Now().Add(lingerFor)) != nil {
		return
	}
	_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(c, lingerMost), make([]byte, 64<<10)) // whatever ends it, it is over
}
