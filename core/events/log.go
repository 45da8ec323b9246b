package events

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// ErrTrimmed says that events which a reader asked for were dropped. The reader
// has missed something, and starts anew from the state.
var ErrTrimmed = errors.New("events: the events asked for were trimmed")

// Log is the log of all streams of a store. It is safe for concurrent use.
type Log struct {
	mu       sync.Mutex
	watchers map[stream]map[*Watch]struct{}
}

type stream struct {
	root uint32
	name string
}

// Open returns the log over s and registers its check there. A store has one.
func Open(s *kv.Store) *Log {
	s.RegisterCheck("events", check)
	return &Log{watchers: make(map[stream]map[*Watch]struct{})}
}

// Head is the state of a stream.
type Head struct {
	// First is the lowest sequence that was not trimmed, Last the highest that was
	// given. A stream without events has First == Last+1; one that never had any
	// has First 1 and Last 0.
	First, Last uint64
}

// Len returns how many events there are.
func (h Head) Len() uint64 { return h.Last + 1 - h.First }

// HeadOf returns the state of a stream as r shows it.
func HeadOf(r kv.Reader, root kv.Root, name string) (Head, error) {
	row, ok, err := r.Get(keys.AppendEventHead(nil, root.ID(), name))
	if err != nil || !ok {
		return Head{First: 1}, err
	}
	h, err := record.DecodeEventHead(row.Bytes)
	if err != nil {
		return Head{}, fmt.Errorf("events: head of a stream: %w", err)
	}
	return Head(h), nil
}

// Append adds an event to a stream, as part of tx, and returns its sequence.
// When the Update is durable, so is the event, and the stream's watchers are
// woken. The event is at most kv.MaxValueBytes long; its bytes belong to the
// caller's own format.
func (l *Log) Append(tx *kv.Tx, name string, event []byte) (sequence uint64, err error) {
	root := tx.Root()
	h, err := HeadOf(tx, root, name)
	if err != nil {
		return 0, err
	}
	h.Last++
	putHead(tx, name, h)
	tx.Insert(keys.AppendEvent(nil, root.ID(), name, h.Last), event)
	tx.OnDurable(func() { l.wake(stream{root.ID(), name}) })
	return h.Last, nil
}

func putHead(tx *kv.Tx, name string, h Head) {
	tx.Put(keys.AppendEventHead(nil, tx.Root().ID(), name), record.AppendEventHead(nil, record.EventHead(h)))
}

// TrimLimit is how many events one call of Trim drops at most, so that an
// Update stays short.
const TrimLimit = 1000

// Trim drops events of a stream from the front, those with a sequence below
// before, as part of tx. It drops at most TrimLimit and reports in done whether
// that was all; if not, the caller goes on in another Update. Views at earlier
// revisions still show what is dropped.
func (l *Log) Trim(tx *kv.Tx, name string, before uint64) (done bool, err error) {
	root := tx.Root()
	h, err := HeadOf(tx, root, name)
	if err != nil {
		return false, err
	}
	before = min(before, h.Last+1)
	if before <= h.First {
		return true, nil
	}
	upTo := min(before, h.First+TrimLimit)
	for ; h.First < upTo; h.First++ {
		tx.Delete(keys.AppendEvent(nil, root.ID(), name, h.First))
	}
	putHead(tx, name, h)
	return h.First == before, nil
}

// Read calls fn with the events of a stream from sequence from on, as r shows
// them, at most limit of them (0 means all), until fn returns an error. The
// bytes are valid until fn returns. next is the sequence to go on with.
//
// Errors: ErrTrimmed when from is below the first event that is left; that of
// fn.
func Read(r kv.Reader, root kv.Root, name string, from uint64, limit int, fn func(sequence uint64, event []byte) error) (next uint64, err error) {
	h, err := HeadOf(r, root, name)
	if err != nil {
		return from, err
	}
	if from < h.First {
		return from, ErrTrimmed
	}
	if from > h.Last {
		return from, nil
	}
	lower := keys.AppendEvent(nil, root.ID(), name, from)
	upper := keys.AppendEvent(nil, root.ID(), name, h.Last+1)
	it := r.Scan(lower, upper, kv.ScanOptions{Limit: limit})
	defer it.Close()
	for it.Next() {
		_, _, sequence, err := keys.CutEvent(it.Key())
		if err != nil {
			return from, fmt.Errorf("events: key of an event: %w", err)
		}
		if sequence != from {
			return from, fmt.Errorf("events: stream %q goes from %d to %d (EVT-1)", name, from-1, sequence)
		}
		if err := fn(sequence, it.Value().Bytes); err != nil {
			return from, err
		}
		from++
	}
	return from, it.Err()
}
