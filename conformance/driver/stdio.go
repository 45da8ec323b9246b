package driver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Lines is a conversation over newline-delimited JSON with a goroutine that reads, so that waiting for a line
// can end with a context.
type Lines struct {
	rw   io.ReadWriteCloser
	in   chan line
	sent []byte
	got  []byte
}

type line struct {
	text []byte
	err  error
}

// NewLines begins to read from rw.
func NewLines(rw io.ReadWriteCloser) *Lines {
	l := &Lines{rw: rw, in: make(chan line)}
	go func() {
		defer close(l.in)
		r := bufio.NewReader(rw)
		for {
			text, err := r.ReadBytes('\n')
			if len(text) > 0 {
				l.in <- line{text: bytes.TrimRight(text, "\r\n")}
			}
			if err != nil {
				return
			}
		}
	}()
	return l
}

// Write sends one line.
func (l *Lines) Write(message []byte) error {
	l.sent = message
	_, err := l.rw.Write(append(bytes.Clone(message), '\n'))
	return err
}

// Read waits for the next line. Errors: that of ctx, or that the other side ended the conversation.
func (l *Lines) Read(ctx context.Context) ([]byte, error) {
	select {
	case next, ok := <-l.in:
		if !ok {
			return nil, errors.New("the server ended the conversation")
		}
		l.got = next.text
		return next.text, next.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no line came: %w", ctx.Err())
	}
}

// Close ends the conversation.
func (l *Lines) Close() error {
	err := l.rw.Close()
	for range l.in {
		// The reader may still hold a line.
	}
	return err
}

// Trace shows the last lines.
func (l *Lines) Trace() string { return fmt.Sprintf("> %s\n< %s\n", clip(l.sent), clip(l.got)) }

func (l *Lines) exchange(ctx context.Context, message []byte, _, _ string, notification bool) ([]byte, error) {
	if err := l.Write(message); err != nil {
		return nil, err
	}
	if notification {
		return nil, nil
	}
	return l.Read(ctx)
}

func newStdio(ctx context.Context, e Endpoint) (Driver, error) {
	if e.Stdio == nil {
		return nil, ErrUnreachable
	}
	rw, err := e.Stdio(ctx)
	if err != nil {
		return nil, err
	}
	lines := NewLines(rw)
	d := &mcpDriver{protocol: MCPStdio, end: e, carrier: lines, revision: revisionOld, trace: lines.Trace, close: lines.Close}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, lines.Close())
	}
	return d, nil
}
