package connectapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
)

// frameHead is what gRPC and gRPC-Web put in front of a message: a byte of flags and the length.
const frameHead = 5

// Flags of a frame.
const (
	flagCompressed = 1
	flagTrailer    = 0x80 // gRPC-Web alone
)

// Intake reads the requests of unary procedures before the library sees them: whole, within the budget, inflated no
// further than the limit, and refused in our words. What it hands on is a plain message in memory.
type Intake struct {
	budget *body.Budget
	limit  int64
	words  Words
	writer *connect.ErrorWriter
}

// NewIntake makes an intake. limit bounds one message, as it comes and as it is inflated; 0 means a server's default.
func NewIntake(budget *body.Budget, limit int64, words Words) *Intake {
	if limit == 0 {
		limit = op.LimitMaxCallBodyBytes
	}
	return &Intake{budget: budget, limit: limit, words: words, writer: connect.NewErrorWriter()}
}

// wire is what the intake has to know of a protocol.
type wire struct {
	framed, web         bool
	compression, accept string // header names
	timeout             string
	parse               func(string) (time.Duration, bool)
}

var (
	connectWire = &wire{compression: "Content-Encoding", accept: "Accept-Encoding", timeout: "Connect-Timeout-Ms", parse: connectTimeout}
	grpcWire    = &wire{framed: true, compression: "Grpc-Encoding", accept: "Grpc-Accept-Encoding", timeout: "Grpc-Timeout", parse: grpcTimeout}
	webWire     = &wire{framed: true, web: true, compression: "Grpc-Encoding", accept: "Grpc-Accept-Encoding", timeout: "Grpc-Timeout", parse: grpcTimeout}
)

// wireOf is nil for what the library answers by the headers alone: other methods, and types of content that no codec
// reads. It knows more types than there are codecs; those pass through the intake for nothing.
func wireOf(r *http.Request) *wire {
	if r.Method != http.MethodPost {
		return nil
	}
	kind := first(r.Header, "Content-Type")
	if len(kind) < len("application/") || !strings.EqualFold(kind[:len("application/")], "application/") {
		return nil
	}
	switch kind = kind[len("application/"):]; {
	case typeFold(kind, "grpc-web"):
		return webWire
	case typeFold(kind, "grpc"):
		return grpcWire
	case typeFold(kind, "json"), typeFold(kind, "proto"):
		return connectWire
	}
	return nil
}

// typeFold reports whether a type is of a kind, alone or with a codec or parameters behind it, and no longer word.
func typeFold(s, kind string) bool {
	return len(s) >= len(kind) && strings.EqualFold(s[:len(kind)], kind) && (len(s) == len(kind) || strings.IndexByte("+; \t", s[len(kind)]) >= 0)
}

func first(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// refusal is an error whose code the protocol prescribes, whatever the registry gives its reason.
type refusal struct {
	code connect.Code
	err  error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func invalid(text string) error { return fault.New(op.ReasonInvalidArguments, text) }

// Serve hands the request to next with its message in memory, or answers with a refusal.
func (in *Intake) Serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	p := wireOf(r)
	if p == nil {
		next.ServeHTTP(w, r)
		return
	}
	ctx, cancel, err := p.deadline(r)
	if err != nil {
		in.refuse(w, r, p, err)
		return
	}
	if cancel != nil {
		defer cancel()
		r = r.WithContext(ctx)
	}
	m := messages.Get().(*message)
	defer m.release()
	if err := in.read(m, w, r, p); err != nil {
		in.refuse(w, r, p, err)
		return
	}
	r.Body, r.ContentLength = m, int64(m.left())
	next.ServeHTTP(w, r)
}

// refuse answers in the protocol of the request.
func (in *Intake) refuse(w http.ResponseWriter, r *http.Request, p *wire, err error) {
	w.Header()[p.accept] = []string{"gzip"}
	_ = in.writer.Write(w, r, in.words(areaOf(r.URL.Path), err)) // the only error is a client that left
}

// headway is the part of the time allowed, and the most of it, that is kept for the answer's way back.
const (
	headwayPart = 20
	headwayMost = 20 * time.Millisecond
)

// deadline gives the call's context, which counts from the arrival of its headers and ends a little before the caller
// stops listening: a refusal that leaves at the very deadline is cut off on its way, in the worst case between its
// status and its words. Without a timeout it is the request's context, and there is nothing to cancel.
func (p *wire) deadline(r *http.Request) (context.Context, context.CancelFunc, error) {
	text := first(r.Header, p.timeout)
	if text == "" {
		return nil, nil, nil
	}
	d, ok := p.parse(text)
	if !ok {
		return nil, nil, invalid("The header " + p.timeout + " is not a timeout as the protocol writes it.")
	}
	delete(r.Header, p.timeout) // or the library would begin anew
	ctx, cancel := context.WithTimeout(r.Context(), d-min(d/headwayPart, headwayMost))
	return ctx, cancel, nil
}

// connectTimeout reads milliseconds, at most ten digits.
func connectTimeout(s string) (time.Duration, bool) {
	n, ok := digits(s, 10)
	return time.Duration(n) * time.Millisecond, ok
}

// grpcTimeout reads at most eight digits and a unit. What no duration holds is as good as endless.
func grpcTimeout(s string) (time.Duration, bool) {
	unit := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second,
		'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond}[s[len(s)-1]]
	n, ok := digits(s[:len(s)-1], 8)
	if unit == 0 || !ok {
		return 0, false
	}
	const longest = 1<<63 - 1
	if n > longest/int64(unit) {
		return longest, true
	}
	return time.Duration(n) * unit, true
}

func digits(s string, most int) (n int64, ok bool) {
	if s == "" || len(s) > most {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// read takes the request in.
func (in *Intake) read(m *message, w http.ResponseWriter, r *http.Request, p *wire) (err error) {
	compressed := false
	switch first(r.Header, p.compression) {
	case "", "identity":
	case "gzip":
		compressed = true
	default:
		return &refusal{connect.CodeUnimplemented, invalid("The request is compressed in a way that is not known; gzip and identity are.")}
	}
	if v := first(r.Header, "Connect-Protocol-Version"); p == connectWire && v != "" && v != "1" {
		return invalid("The header Connect-Protocol-Version must be 1.")
	}
	if err := r.Context().Err(); err != nil {
		return err
	}
	most := in.limit
	if p.framed {
		most += frameHead
	}
	if m.buf, err = in.budget.Read(w, r, most); err != nil {
		return err
	}
	m.data = m.buf.Bytes()
	if compressed {
		delete(r.Header, p.compression) // what is handed on is not
	}
	if p.framed {
		if compressed, err = in.unframe(m, p, compressed); err != nil {
			return err
		}
	}
	if compressed && len(m.data) > 0 {
		inflated, err := in.inflate(m.data)
		m.buf.Release()
		m.data = nil
		if err != nil {
			return err
		}
		m.buf, m.data = inflated, inflated.Bytes()
	}
	if p.framed {
		m.at = 0
		binary.BigEndian.PutUint32(m.head[1:], uint32(len(m.data)))
	} else {
		m.at = frameHead
	}
	// The deadline may have come while the message did; the client is told in our words.
	return r.Context().Err()
}

// unframe checks that there is one message, in one frame, and reports whether it is compressed.
func (in *Intake) unframe(m *message, p *wire, may bool) (compressed bool, err error) {
	raw := m.data
	if len(raw) == 0 {
		return false, &refusal{connect.CodeUnimplemented, invalid("The request holds no message; a call takes exactly one.")}
	}
	if len(raw) < frameHead {
		return false, invalid("The request ends within the head of a frame.")
	}
	size := int64(binary.BigEndian.Uint32(raw[1:]))
	switch flags := raw[0]; {
	case size > in.limit:
		return false, fault.New(op.ReasonBodyTooLarge, "").With("maximum_bytes", in.limit)
	case flags&^flagCompressed != 0:
		return false, invalid("The request's frame carries flags that no message has.")
	case flags == flagCompressed && !may:
		return false, &refusal{connect.CodeInternal, invalid("The request's frame is marked as compressed, but no header says how.")}
	case size > int64(len(raw)-frameHead):
		return false, invalid("The request ends within a message.")
	}
	m.data = raw[frameHead : frameHead+size]
	rest := raw[frameHead+size:]
	if p.web && len(rest) >= frameHead && rest[0]&flagTrailer != 0 && int64(len(rest)-frameHead) == int64(binary.BigEndian.Uint32(rest[1:])) {
		rest = nil // trailers, of which a call has no use
	}
	if len(rest) > 0 {
		return false, &refusal{connect.CodeUnimplemented, invalid("The request goes on after its message; a call takes exactly one.")}
	}
	return raw[0] == flagCompressed, nil
}

// inflate expands gzip and stops at the limit, however much there is behind it.
func (in *Intake) inflate(data []byte) (body.Buffer, error) {
	z, _ := inflaters.Get().(*gzip.Reader)
	defer func() { inflaters.Put(z) }()
	if err := z.Reset(bytes.NewReader(data)); err != nil {
		return body.Buffer{}, invalid("The request is marked as gzip and is not.")
	}
	buf, err := in.budget.Fill(z, in.limit)
	var own *fault.Error
	if err != nil && !errors.As(err, &own) {
		err = invalid("The request is marked as gzip and is not, or is not whole.")
	}
	return buf, err
}

var inflaters = sync.Pool{New: func() any { return new(gzip.Reader) }}

// message is a request's message as the library reads it: behind a head, if the protocol frames it. It holds the
// memory until the call has ended.
type message struct {
	head [frameHead]byte
	data []byte
	at   int // in head and data
	buf  body.Buffer
}

var messages = sync.Pool{New: func() any { return new(message) }}

func (m *message) release() {
	m.buf.Release()
	m.data = nil
	messages.Put(m)
}

func (m *message) left() int { return frameHead + len(m.data) - m.at }

// Read implements io.Reader.
func (m *message) Read(p []byte) (int, error) {
	n := 0
	if m.at < frameHead {
		n = copy(p, m.head[m.at:])
		m.at += n
	}
	if m.at >= frameHead {
		k := copy(p[n:], m.data[m.at-frameHead:])
		n, m.at = n+k, m.at+k
	}
	if n == 0 && m.left() == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (m *message) Close() error { return nil }

// capped is the gzip of everything that does not pass through an intake: it stops at the limit as well.
type capped struct {
	z     *gzip.Reader
	words Words
	limit int64
	left  int64
	err   error
}

func newCapped(limit int64, words Words) func() connect.Decompressor {
	return func() connect.Decompressor { return &capped{z: new(gzip.Reader), words: words, limit: limit} }
}

// Reset implements connect.Decompressor. Errors come with Read, which the library passes on as they are.
func (c *capped) Reset(r io.Reader) error {
	c.left = c.limit
	c.err = nil
	if err := c.z.Reset(r); err != nil {
		c.err = c.words(op.AreaWorkbench, invalid("The message is marked as gzip and is not."))
	}
	return nil
}

// Read implements io.Reader.
func (c *capped) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.z.Read(p)
	c.left -= int64(n)
	switch {
	case c.left < 0:
		c.err = c.words(op.AreaWorkbench, fault.New(op.ReasonBodyTooLarge, "").With("maximum_bytes", c.limit))
		return 0, c.err
	case err != nil && err != io.EOF:
		c.err = c.words(op.AreaWorkbench, invalid("The message is marked as gzip and is not, or is not whole."))
		return n, c.err
	}
	return n, err
}

// Close implements connect.Decompressor.
func (c *capped) Close() error { return nil }
