package kv

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Tx is one update while its closure runs. It is used by that closure only, and
// not kept. A mistake in a call (a foreign key, a value that is too large)
// sticks: later calls do nothing, and the Update fails with it.
type Tx struct {
	store *Store
	class class
	root  *rootState
	rev   Revision
	ran   bool

	it  *pebble.Iterator // newest applied state; nil until something is read
	err error

	at   int64 // the instant of this update, once asked for
	told bool  // Now was called

	writes []write
	index  map[string]int // of writes, once there are many
	seen   []lookup       // versions met, so that seal need not look again
	bytes  int

	holds []heldChange
	wakes []func()

	mem arena
	buf []byte
}

// write is one row that the closure wrote; the slices are in the arena.
type write struct {
	key, value []byte
	deleted    bool
	versioned  bool
	// fresh says that the caller knows of no earlier version.
	fresh bool
}

// lookup is what the newest applied version of a key is.
type lookup struct {
	key     []byte
	rev     Revision // 0 when there is none
	deleted bool
}

var txPool = sync.Pool{New: func() any { return new(Tx) }}

func newTx(s *Store, st *rootState) *Tx {
	tx := txPool.Get().(*Tx)
	tx.store, tx.root = s, st
	return tx
}

// begin is called when the turn has come.
func (tx *Tx) begin() {
	tx.ran = true
	tx.rev = tx.root.head + 1
}

// end is called before the turn ends, also when the closure panicked.
func (tx *Tx) end() {
	if tx.it != nil {
		_ = tx.it.Close()
		tx.it = nil
	}
}

// recycle lets another update use the memory. It is not called when the closure
// panicked.
func (tx *Tx) recycle() {
	clear(tx.writes)
	clear(tx.seen)
	clear(tx.holds)
	clear(tx.wakes)
	tx.mem.reset()
	*tx = Tx{writes: tx.writes[:0], seen: tx.seen[:0], holds: tx.holds[:0], wakes: tx.wakes[:0], mem: tx.mem, buf: tx.buf[:0]}
	txPool.Put(tx)
}

func contextFault(ctx context.Context) error { return fault.From(context.Cause(ctx)) }

// Revision returns the revision that the update has if it writes something.
func (tx *Tx) Revision() Revision { return tx.rev }

// Root returns the root that the update belongs to.
func (tx *Tx) Root() Root { return Root{tx.root} }

// Store returns the store that the update belongs to.
func (tx *Tx) Store() *Store { return tx.store }

// Now returns the instant of this update, the same on every call, in UTC, with
// the resolution of a millisecond. Instants never run backwards from one update
// to the next, over all roots and over restarts, whatever the machine's clock
// does (KV-10).
func (tx *Tx) Now() time.Time {
	tx.told = true
	return time.UnixMilli(tx.now()).UTC()
}

func (tx *Tx) now() int64 {
	if tx.at == 0 {
		s := tx.store
		s.toldMillis = max(s.toldMillis, s.clk.Now().UnixMilli())
		s.shownMillis.Store(s.toldMillis)
		tx.at = s.toldMillis
	}
	return tx.at
}

func (tx *Tx) fail(err error) {
	if tx.err == nil {
		tx.err = err
	}
}

// spaceOf checks that a key may be used in this update.
func (tx *Tx) spaceOf(key []byte) (*keys.Space, bool) {
	space, root, ok := keys.Of(key)
	switch {
	case !ok, root != tx.root.id && (root != keys.StoreRoot || space.Versioned):
		tx.fail(ErrForeignKey)
		return nil, false
	}
	return space, true
}

// Get returns the newest applied version of a key, or what this update wrote.
// It may return a version that is not durable yet; the Update's answer then waits
// until it is. The bytes are valid until the closure returns.
func (tx *Tx) Get(key []byte) (Value, bool, error) {
	if _, ok := tx.spaceOf(key); !ok || tx.err != nil {
		return Value{}, false, tx.err
	}
	if i := tx.find(key); i >= 0 {
		w := &tx.writes[i]
		if w.deleted {
			return Value{}, false, nil
		}
		return Value{Bytes: w.value, Rev: tx.writeRevision(w)}, true, nil
	}
	return tx.getApplied(key)
}

func (tx *Tx) writeRevision(w *write) Revision {
	if w.versioned {
		return tx.rev
	}
	return 0
}

func (tx *Tx) getApplied(key []byte) (Value, bool, error) {
	space := keys.Lookup(key[0])
	value, found, err := tx.seek(key, space.Versioned)
	if err != nil {
		tx.fail(err)
		return Value{}, false, err
	}
	if !space.Versioned {
		if !found.exists() {
			return Value{}, false, nil
		}
		return Value{Bytes: tx.mem.copy(value)}, true, nil
	}
	found.key = tx.mem.copy(key)
	tx.seen = append(tx.seen, found)
	if !found.exists() || found.deleted {
		return Value{}, false, nil
	}
	return Value{Bytes: tx.mem.copy(value), Rev: found.rev}, true, nil
}

func (l lookup) exists() bool { return l.rev != 0 }

// seek finds the newest applied version; the value is valid until the next seek.
// A housekeeping row that exists is said to have the newest revision.
func (tx *Tx) seek(key []byte, versioned bool) (value []byte, found lookup, err error) {
	if tx.it == nil {
		// Filters of the last level are worth reading here: most keys that an
		// update asks for and nobody has read before do not exist.
		tx.it, err = tx.store.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
		if err != nil {
			return nil, lookup{}, err
		}
	}
	if versioned {
		tx.buf = appendVersioned(tx.buf[:0], key, newest)
	} else {
		tx.buf = appendBare(tx.buf[:0], key)
	}
	if !tx.it.SeekPrefixGE(tx.buf) {
		return nil, lookup{}, tx.it.Error()
	}
	if value, err = tx.it.ValueAndErr(); err != nil {
		return nil, lookup{}, err
	}
	if !versioned {
		return value, lookup{rev: newest}, nil
	}
	_, rev, ok := splitPhysical(tx.it.Key())
	if !ok {
		return nil, lookup{}, keys.ErrMalformed
	}
	value, deleted, err := splitValue(value)
	return value, lookup{rev: rev, deleted: deleted}, err
}

const indexedFrom = 16

// find returns the index of this update's own write of a key, or -1.
func (tx *Tx) find(key []byte) int {
	if tx.index != nil {
		if i, ok := tx.index[string(key)]; ok {
			return i
		}
		return -1
	}
	for i := range tx.writes {
		if bytes.Equal(tx.writes[i].key, key) {
			return i
		}
	}
	return -1
}

// Put writes a row. In a versioned space the earlier version stays readable for
// the history window and for holds; in a housekeeping space it is gone. Key and
// value are copied.
func (tx *Tx) Put(key, value []byte) { tx.put(key, value, false, false) }

// Insert is Put for a key of a versioned space that never had a version: it
// spares looking for one to supersede. An Insert over an earlier version is a
// mistake in the program, which Check finds (KV-7).
func (tx *Tx) Insert(key, value []byte) { tx.put(key, value, false, true) }

// Delete removes a row; there need not be one.
func (tx *Tx) Delete(key []byte) { tx.put(key, nil, true, false) }

func (tx *Tx) put(key, value []byte, deleted, fresh bool) {
	space, ok := tx.spaceOf(key)
	if !ok || tx.err != nil {
		return
	}
	if space.Writer == storeWriter || space.Writer == reaperWriter {
		tx.fail(ErrOwnedByStore)
		return
	}
	tx.bytes += len(key) + len(value)
	if len(value) > MaxValueBytes || tx.bytes > MaxUpdateBytes {
		tx.fail(ErrTooLarge)
		return
	}
	w := write{value: tx.mem.copy(value), deleted: deleted, versioned: space.Versioned, fresh: fresh}
	if i := tx.find(key); i >= 0 {
		old := &tx.writes[i]
		w.key, w.fresh = old.key, old.fresh
		*old = w
		return
	}
	w.key = tx.mem.copy(key)
	tx.writes = append(tx.writes, w)
	switch {
	case tx.index != nil:
		tx.index[string(w.key)] = len(tx.writes) - 1
	case len(tx.writes) > indexedFrom:
		tx.index = make(map[string]int, 4*indexedFrom)
		for i := range tx.writes {
			tx.index[string(tx.writes[i].key)] = i
		}
	}
}

const (
	storeWriter  = "core/kv"
	reaperWriter = "core/kv reaper"
)

// OnDurable has fn called when the update is durable, before Update returns and
// on the same goroutine. It is not called when the update wrote nothing. fn
// wakes someone and returns; it does not wait.
func (tx *Tx) OnDurable(fn func()) { tx.wakes = append(tx.wakes, fn) }

// seal builds the batch of everything that the closure wrote, or nil when there
// is nothing to write.
func (tx *Tx) seal() (*pebble.Batch, error) {
	if tx.err != nil {
		return nil, tx.err
	}
	if len(tx.writes) == 0 && len(tx.holds) == 0 {
		return nil, nil
	}
	if err := tx.store.space.admit(tx.store, tx.class); err != nil {
		return nil, err
	}
	b := tx.store.db.NewBatchWithSize(tx.bytes + 64*(len(tx.writes)+4))
	n, err := tx.sealWrites(b)
	if err == nil && n+len(tx.holds) > 0 {
		err = errors.Join(tx.sealHolds(b), tx.sealHead(b))
	}
	if err != nil || n+len(tx.holds) == 0 {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// sealWrites returns how many rows had something to change.
func (tx *Tx) sealWrites(b *pebble.Batch) (n int, err error) {
	superseded := uint32(0)
	for i := range tx.writes {
		w := &tx.writes[i]
		if !w.versioned {
			n++
			if err := sealBare(b, w); err != nil {
				return n, err
			}
			continue
		}
		old := lookup{}
		if !w.fresh {
			if old, err = tx.newestOf(w.key); err != nil {
				return n, err
			}
		}
		if w.deleted && (!old.exists() || old.deleted) {
			continue
		}
		n++
		if err := tx.sealVersion(b, w); err != nil {
			return n, err
		}
		if old.exists() && !old.deleted {
			if err := tx.enqueue(b, &superseded, w.key, old.rev); err != nil {
				return n, err
			}
		}
		if w.deleted {
			// The deletion itself goes when nothing is left under it.
			if err := tx.enqueue(b, &superseded, w.key, tx.rev); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func sealBare(b *pebble.Batch, w *write) error {
	if w.deleted {
		d := b.DeleteDeferred(len(w.key) + 1)
		appendBare(d.Key[:0], w.key)
		return d.Finish()
	}
	d := b.SetDeferred(len(w.key)+1, len(w.value))
	appendBare(d.Key[:0], w.key)
	copy(d.Value, w.value)
	return d.Finish()
}

func (tx *Tx) sealVersion(b *pebble.Batch, w *write) error {
	size := len(w.value) + 1
	if w.deleted {
		size = 0
	}
	d := b.SetDeferred(len(w.key)+versionedLen, size)
	appendVersioned(d.Key[:0], w.key, tx.rev)
	if !w.deleted {
		d.Value[copy(d.Value, w.value)] = live
	}
	return d.Finish()
}

// newestOf returns the newest applied version of a key, from memory when the
// closure has read it.
func (tx *Tx) newestOf(key []byte) (lookup, error) {
	for i := range tx.seen {
		if bytes.Equal(tx.seen[i].key, key) {
			return tx.seen[i], nil
		}
	}
	_, found, err := tx.seek(key, true)
	return found, err
}

// enqueue adds the reaper's row for a version that this update supersedes.
func (tx *Tx) enqueue(b *pebble.Batch, number *uint32, key []byte, rev Revision) error {
	tx.buf = keys.AppendReap(tx.buf[:0], tx.root.id, keys.Victim{Revision: uint64(tx.rev), Number: *number})
	tx.buf = append(tx.buf, sentinel)
	n := len(tx.buf)
	tx.buf = record.AppendVictim(tx.buf, record.Victim{AtMillis: tx.now(), Revision: uint64(rev), Key: key})
	*number++
	return b.Set(tx.buf[:n], tx.buf[n:], nil)
}

func (tx *Tx) sealHead(b *pebble.Batch) error {
	tx.buf = append(keys.AppendRootHead(tx.buf[:0], tx.root.id), sentinel)
	n := len(tx.buf)
	tx.buf = record.AppendRootHead(tx.buf, record.RootHead{Revision: uint64(tx.rev), AtMillis: tx.now()})
	return b.Set(tx.buf[:n], tx.buf[n:], nil)
}

// sortedWrites returns this update's writes inside bounds, in key order, as they
// are now.
func (tx *Tx) sortedWrites(lower, upper []byte) []write {
	var in []write
	for _, w := range tx.writes {
		if bytes.Compare(w.key, lower) >= 0 && (upper == nil || bytes.Compare(w.key, upper) < 0) {
			in = append(in, w)
		}
	}
	slices.SortFunc(in, func(a, b write) int { return bytes.Compare(a.key, b.key) })
	return in
}
