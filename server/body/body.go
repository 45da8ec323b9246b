package body

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

const (
	// smallSize is what a pooled buffer holds. Bodies up to it are not counted against the budget.
	smallSize = 64 << 10
	// growth is the least that is reserved at a time for a body that a pooled buffer does not hold.
	growth = 1 << 20
)

// DefaultBudget is how many bytes of large bodies are held at one time unless a server is told otherwise.
const DefaultBudget = 256 << 20

// Patience is how long a peer may stand still in the middle of a body.
const Patience = 30 * time.Second

// Bounds of lingering: how long a client that goes on sending is listened to after its answer, and how much of what it sends
// is thrown away.
const (
	LingerFor  = 5 * time.Second
	LingerMost = 64 << 20
)

// leastRate is how fast a body that is held in memory has to come, on the whole: a peer that trickles would otherwise
// hold its share of the budget for as long as it likes. Bodies that are streamed hold none, and only must not stand still.
const leastRate = 256 << 10 // bytes a second

// answerWithin is how long after a body the answer may take to be made and taken.
const answerWithin = time.Minute

// Budget bounds the memory of bodies that are held whole. It is safe for concurrent use.
type Budget struct {
	left atomic.Int64
}

// NewBudget returns a budget of n bytes; 0 means DefaultBudget.
func NewBudget(n int64) *Budget {
	if n == 0 {
		n = DefaultBudget
	}
	b := &Budget{}
	b.left.Store(n)
	return b
}

func (b *Budget) take(n int64) bool {
	if b.left.Add(-n) >= 0 {
		return true
	}
	b.left.Add(n)
	return false
}

// Buffer is a body in memory, until Release.
type Buffer struct {
	data   []byte
	pooled *[]byte
	budget *Budget
	taken  int64
}

// Bytes is the body. It may not be used after Release.
func (b *Buffer) Bytes() []byte { return b.data }

// Release gives the memory back.
func (b *Buffer) Release() {
	if b.pooled != nil {
		small.Put(b.pooled)
	}
	if b.taken > 0 {
		b.budget.left.Add(b.taken)
	}
	*b = Buffer{}
}

// Abandon gives the share of the budget back and leaves the memory to the garbage collector, for bodies that somebody
// may still be reading. Bytes may not be called afterwards.
func (b *Buffer) Abandon() {
	b.pooled = nil
	b.Release()
}

var small = sync.Pool{New: func() any { p := make([]byte, 0, smallSize); return &p }}

// Read reads the body of r whole, at most limit bytes of it. The error carries a reason: BODY_TOO_LARGE, UNAVAILABLE
// when the budget is spent, CANCELLED when the client broke off, DEADLINE_EXCEEDED when it stood still, and
// INVALID_ARGUMENTS when what it sent is no body of HTTP.
func (b *Budget) Read(w http.ResponseWriter, r *http.Request, limit int64) (Buffer, error) {
	n := r.ContentLength
	if n > limit {
		return Buffer{}, tooLarge(limit)
	}
	if n >= 0 && n <= smallSize {
		// The whole request has the server's own read deadline; a body this small needs no other.
		p := small.Get().(*[]byte)
		buf := Buffer{data: (*p)[:n], pooled: p}
		if _, err := io.ReadFull(r.Body, buf.data); err != nil {
			buf.Release()
			return Buffer{}, broken(err)
		}
		return buf, nil
	}
	in := NewReader(w, r.Body)
	began := time.Now()
	buf, err := b.fill(in, n, limit, func(have int64) error {
		if TooSlow(time.Since(began), have) {
			return os.ErrDeadlineExceeded
		}
		return nil
	})
	if err != nil && !fault.Is(err, op.ReasonBodyTooLarge) && !fault.Is(err, op.ReasonUnavailable) {
		err = broken(err)
	}
	return buf, err
}

// TooSlow reports whether have bytes are too few for a body, held in memory, that began so long ago.
func TooSlow(ago time.Duration, have int64) bool {
	late := ago - Patience
	return late > 0 && have < int64(late.Seconds()*leastRate)
}

// Fill reads in to its end, at most limit bytes of it, into memory of the budget. The error carries the reason
// BODY_TOO_LARGE or UNAVAILABLE, or is the one of in.
func (b *Budget) Fill(in io.Reader, limit int64) (Buffer, error) {
	return b.fill(in, -1, limit, func(int64) error { return nil })
}

// fill reserves memory as the bytes arrive, whatever was announced: an announcement of n bytes, -1 for none, costs its
// sender nothing. more is asked after every piece whether to go on.
func (b *Budget) fill(in io.Reader, n, limit int64, more func(have int64) error) (Buffer, error) {
	buf := Buffer{budget: b}
	if n < 0 {
		buf.pooled = small.Get().(*[]byte)
		buf.data = (*buf.pooled)[:0]
	}
	for {
		have := int64(len(buf.data))
		if have == int64(cap(buf.data)) && !buf.grow(n, limit) {
			buf.Release()
			return Buffer{}, fault.New(op.ReasonUnavailable, "")
		}
		k, err := in.Read(buf.data[have:cap(buf.data)])
		have += int64(k)
		buf.data = buf.data[:have]
		switch {
		case have > limit:
			err = tooLarge(limit)
		case have == n || err == io.EOF && n < 0:
			return buf, nil
		case err == io.EOF:
			err = io.ErrUnexpectedEOF
		case err == nil:
			err = more(have)
		}
		if err != nil {
			buf.Release()
			return Buffer{}, err
		}
	}
}

// grow makes room for more: twice the size, so that copying stays linear, but no more than shows that the limit is
// passed; and reserved before it is allocated. It reports false when the budget is spent.
func (b *Buffer) grow(n, limit int64) bool {
	have := int64(len(b.data))
	more := min(max(growth, have), limit+1-have)
	if n >= 0 {
		more = min(more, n-have)
	}
	want := more
	if b.taken == 0 {
		want += have // what lay in a pooled buffer
	}
	if !b.budget.take(want) {
		return false
	}
	b.taken += want
	grown := make([]byte, have, have+more)
	copy(grown, b.data)
	if b.pooled != nil {
		small.Put(b.pooled)
		b.pooled = nil
	}
	b.data = grown
	return true
}

func tooLarge(limit int64) error {
	return fault.New(op.ReasonBodyTooLarge, "").With("maximum_bytes", limit)
}

// broken gives a read error of a request body its reason.
func broken(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fault.New(op.ReasonDeadlineExceeded, "The request body stopped arriving, or came too slowly.").Because(err)
	}
	if malformed(err) {
		return fault.New(op.ReasonInvalidArguments, "The request body is not framed as HTTP/1.1 frames it.").Because(err)
	}
	return fault.New(op.ReasonCancelled, "The request body ended early.").Because(err)
}

// malformed tells chunks that are none from a connection that broke. The errors of net/http for them have no type of
// their own but for trailers.
func malformed(err error) bool {
	var network net.Error
	var trailer textproto.ProtocolError
	if errors.As(err, &network) {
		return false
	}
	text := err.Error()
	return errors.As(err, &trailer) || strings.Contains(text, "chunk") || strings.Contains(text, "header line too long")
}

// Reader reads a request body piece by piece: it gives up a peer that stands still for Patience, and remembers what
// went wrong, so that an error of the client is not taken for one of whoever stores the body.
type Reader struct {
	in    io.Reader
	pace  pace
	err   error
	ended bool
	count int64
}

// NewReader returns a reader of in, which is the body of the request that w answers. While the body comes, the deadline
// of the answer moves ahead as well: its time begins when the body has ended.
func NewReader(w http.ResponseWriter, in io.Reader) *Reader {
	rc := http.NewResponseController(w)
	return &Reader{in: in, pace: pace{set: func(t time.Time) error {
		return errors.Join(rc.SetReadDeadline(t), rc.SetWriteDeadline(t.Add(answerWithin)))
	}}}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	r.pace.step()
	n, err := r.in.Read(p)
	r.count += int64(n)
	switch {
	case err == io.EOF:
		r.ended = true
	case err != nil:
		r.err = err
	}
	return n, err
}

// Ended reports whether the body was read to its end.
func (r *Reader) Ended() bool { return r.ended }

// Count is how many bytes were read.
func (r *Reader) Count() int64 { return r.count }

// Failure is the error of the client's side, with a reason; nil when there was none.
func (r *Reader) Failure() error {
	if r.err == nil {
		return nil
	}
	var own *fault.Error
	if errors.As(r.err, &own) {
		return own
	}
	return broken(r.err)
}

// Writer writes a response body piece by piece, with the same patience, and remembers that the client went away.
type Writer struct {
	out     io.Writer
	pace    pace
	err     error
	started bool
}

// NewWriter returns a writer to w.
func NewWriter(w http.ResponseWriter) *Writer {
	return &Writer{out: w, pace: pace{set: http.NewResponseController(w).SetWriteDeadline}}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.pace.step()
	w.started = true
	n, err := w.out.Write(p)
	if err != nil {
		w.err = err
	}
	return n, err
}

// Started reports whether anything was written, so that the status can no longer change.
func (w *Writer) Started() bool { return w.started }

// Failure is the error of the client's side, with a reason; nil when there was none.
func (w *Writer) Failure() error {
	if w.err == nil {
		return nil
	}
	return fault.New(op.ReasonCancelled, "The client stopped receiving.").Because(w.err)
}

// pace moves a deadline ahead of a moving peer, a few times per Patience and not for every piece.
type pace struct {
	set  func(time.Time) error
	next time.Time
}

func (p *pace) step() {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(Patience / 4)
	// Connections in memory may have no deadlines; then there is no slow peer either.
	_ = p.set(now.Add(Patience))
}
