package body

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

const (
	// smallSize is what a pooled buffer holds. Bodies up to it are not counted against the budget.
	smallSize = 64 << 10
	// growth is how much is reserved at a time for a body whose length is not announced.
	growth = 1 << 20
)

// DefaultBudget is how many bytes of large bodies are held at one time unless a server is told otherwise.
const DefaultBudget = 256 << 20

// Patience is how long a peer may stand still in the middle of a body.
const Patience = 30 * time.Second

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
// when the budget is spent, CANCELLED when the client broke off, DEADLINE_EXCEEDED when it stood still.
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
	return b.readLarge(w, r, n, limit)
}

// readLarge reserves memory as the bytes arrive, whatever was announced: an announcement costs its sender nothing.
func (b *Budget) readLarge(w http.ResponseWriter, r *http.Request, n, limit int64) (Buffer, error) {
	in := NewReader(w, r.Body)
	began := time.Now()
	buf := Buffer{budget: b}
	for {
		have := int64(len(buf.data))
		if have == int64(cap(buf.data)) {
			// Twice the size, so that copying stays linear; reserved before it is allocated.
			more := max(growth, have)
			if n >= 0 {
				more = min(more, n-have)
			}
			if !b.take(more) {
				buf.Release()
				return Buffer{}, fault.New(op.ReasonUnavailable, "")
			}
			buf.taken += more
			grown := make([]byte, have, have+more)
			copy(grown, buf.data)
			buf.data = grown
		}
		k, err := in.Read(buf.data[have:cap(buf.data)])
		have += int64(k)
		buf.data = buf.data[:have]
		switch late := time.Since(began) - Patience; {
		case have > limit:
			buf.Release()
			return Buffer{}, tooLarge(limit)
		case have == n || err == io.EOF && n < 0:
			return buf, nil
		case err == io.EOF:
			err = io.ErrUnexpectedEOF
		case err == nil && late > 0 && have < int64(late.Seconds()*leastRate):
			err = os.ErrDeadlineExceeded
		}
		if err != nil {
			buf.Release()
			return Buffer{}, broken(err)
		}
	}
}

func tooLarge(limit int64) error {
	return fault.New(op.ReasonBodyTooLarge, "").With("maximum_bytes", limit)
}

// broken gives a read error of a request body its reason.
func broken(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fault.New(op.ReasonDeadlineExceeded, "The request body stopped arriving, or came too slowly.").Because(err)
	}
	return fault.New(op.ReasonCancelled, "The request body ended early.").Because(err)
}

// Reader reads a request body piece by piece: it gives up a peer that stands still for Patience, and remembers what
// went wrong, so that an error of the client is not taken for one of whoever stores the body.
type Reader struct {
	in    io.Reader
	pace  pace
	err   error
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
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

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
