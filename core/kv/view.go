package kv

import (
	"context"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// Value is one version of a row.
type Value struct {
	Bytes []byte
	// Rev is the revision that wrote the version; 0 in a housekeeping space.
	Rev Revision
}

// View is a root at one revision. It is used by its closure's goroutine only,
// and not kept.
type View struct {
	store *Store
	root  *rootState
	rev   Revision
	// it reads single keys; scans are clones of it, so that everything in a View
	// comes from one state of the store.
	it   *pebble.Iterator
	opts pebble.IterOptions
	// bare reads immutable rows: it leaves out the filter of revisions, which
	// would hide them. nil until one is read.
	bare  *pebble.Iterator
	epoch uint64
	// reach is what can be seen: less than everything in a View below the floor.
	reach reach
	// rows is the cache of newest rows; nil in a View of an earlier revision.
	// durable is the number up to which updates were durable before rev was taken.
	rows    *rowCache
	durable uint64
	mem     arena
	buf     []byte
	// filters has room for the one that Pebble may add.
	filters [2]pebble.BlockPropertyFilter
}

var viewPool = sync.Pool{New: func() any { return new(View) }}

// View runs fn with a view of the root at its durable watermark: everything that
// was acknowledged before View was called is in it, nothing in it can be lost,
// and it is one revision (KV-4). A View blocks nobody and is blocked by nobody,
// but it keeps files and memory from being freed: what takes long, such as a
// write to a network, comes after it.
//
// Errors: that of fn; UNAVAILABLE when the store was closed or has failed;
// CANCELLED and DEADLINE_EXCEEDED when ctx ended before.
func (s *Store) View(ctx context.Context, root Root, fn func(v *View) error) error {
	if root.state == nil {
		return ErrForeignKey
	}
	if err := s.enterView(ctx); err != nil {
		return err
	}
	defer s.leave()
	for {
		// First the watermark, then the state: in the other order an update that
		// became durable between the two would be missing from the state.
		durable := s.mark.durable.Load()
		rev := Revision(root.state.durable.Load())
		v, err := s.openView(root.state, rev, false)
		if err != nil {
			return err
		}
		v.rows, v.durable = s.rows, durable
		// With a short history window the reaper may have passed rev meanwhile.
		if uint64(rev) < root.state.floor.Load() {
			v.close()
			continue
		}
		defer v.close()
		return fn(v)
	}
}

// ViewAt is View at an earlier revision.
//
// Errors besides those of View: ErrBelowFloor when the revision is older than
// the history window and no hold keeps anything of exactly it; ErrAhead when it
// is not durable yet. When all that keeps it are holds within prefixes, reading
// anything else gives ErrBelowFloor; immutable rows can be read as ever.
func (s *Store) ViewAt(ctx context.Context, root Root, rev Revision, fn func(v *View) error) error {
	if root.state == nil {
		return ErrForeignKey
	}
	if err := s.enterView(ctx); err != nil {
		return err
	}
	defer s.leave()
	durable := Revision(root.state.durable.Load())
	if rev > durable {
		return ErrAhead
	}
	v, err := s.openView(root.state, rev, rev < durable)
	if err != nil {
		return err
	}
	defer v.close()
	// The state was opened before the floor is looked at: whatever the reaper
	// drops after a floor that allows rev is still in the state.
	v.reach = root.state.reach(rev)
	if v.reach.partial && len(v.reach.prefixes) == 0 {
		return ErrBelowFloor
	}
	return fn(v)
}

// reach is what can be read at a revision: everything, or in part the rows below
// some prefixes.
type reach struct {
	partial  bool
	prefixes []string
}

// covers reports whether every row below a prefix, or with a key, can be read;
// nil asks for the whole root.
func (r reach) covers(prefix []byte) bool {
	return !r.partial || prefix != nil && slices.ContainsFunc(r.prefixes, func(p string) bool {
		return len(prefix) >= len(p) && string(prefix[:len(p)]) == p
	})
}

// reach returns what the reaper keeps of what is visible at rev.
func (st *rootState) reach(rev Revision) reach {
	if uint64(rev) >= st.floor.Load() {
		return reach{}
	}
	st.holdMu.RLock()
	defer st.holdMu.RUnlock()
	whole, prefixes := st.holds.at(rev)
	return reach{!whole, prefixes}
}

func (s *Store) enterView(ctx context.Context) error {
	if ctx.Err() != nil {
		return contextFault(ctx)
	}
	if err := s.enter(); err != nil {
		return err
	}
	s.counters.views.Add(1)
	return nil
}

func (s *Store) openView(st *rootState, rev Revision, filter bool) (*View, error) {
	v := viewPool.Get().(*View)
	v.store, v.root, v.rev = s, st, rev
	v.epoch = st.views.enter()
	v.opts = pebble.IterOptions{}
	var err error
	if filter {
		v.filters[0] = revisionFilter(rev)
		v.opts.PointKeyFilters = v.filters[:1]
		v.opts.OnlyReadGuaranteedDurable, err = s.tabled(st, rev)
	}
	if err == nil {
		v.it, err = s.db.NewIter(&v.opts)
	}
	if err != nil {
		st.views.leave(v.epoch)
		v.recycle()
		return nil, err
	}
	return v, nil
}

func (v *View) close() {
	_ = v.it.Close()
	if v.bare != nil {
		_ = v.bare.Close()
	}
	v.root.views.leave(v.epoch)
	v.recycle()
}

func (v *View) recycle() {
	v.mem.reset()
	*v = View{mem: v.mem, buf: v.buf[:0]}
	viewPool.Put(v)
}

// Revision returns the revision at which the View reads.
func (v *View) Revision() Revision { return v.rev }

// Root returns the root that the View reads.
func (v *View) Root() Root { return Root{v.root} }

func (v *View) check(key []byte) error {
	space, root, ok := keys.Of(key)
	switch {
	case !ok || root != v.root.id && root != keys.StoreRoot:
		return ErrForeignKey
	case !space.Versioned && !space.Immutable:
		return ErrHousekeeping
	case root != v.root.id:
		return ErrForeignKey
	case v.reach.partial && space.Versioned && !v.reach.covers(key):
		return ErrBelowFloor
	}
	return nil
}

// Get returns the version of a key that is visible at the View's revision. The
// bytes are valid until the closure returns.
//
// Errors: ErrHousekeeping, ErrForeignKey, ErrBelowFloor (see ViewAt), an error of
// the file system.
func (v *View) Get(key []byte) (Value, bool, error) {
	if err := v.check(key); err != nil {
		return Value{}, false, err
	}
	if v.rev == 0 {
		return Value{}, false, nil
	}
	if !keys.Lookup(key[0]).Versioned {
		return v.getBare(key)
	}
	if v.rows != nil {
		if row, ok := v.rows.get(key, v.rev); ok {
			return Value{Bytes: v.mem.copy(row.Bytes), Rev: row.Rev}, true, nil
		}
	}
	v.buf = appendVersioned(v.buf[:0], key, v.rev)
	if !v.it.SeekPrefixGE(v.buf) {
		return Value{}, false, v.it.Error()
	}
	_, rev, ok := splitPhysical(v.it.Key())
	if !ok {
		return Value{}, false, keys.ErrMalformed
	}
	stored, err := v.it.ValueAndErr()
	if err != nil {
		return Value{}, false, err
	}
	value, deleted, err := splitValue(stored)
	if err != nil || deleted {
		return Value{}, false, err
	}
	row := Value{Bytes: v.mem.copy(value), Rev: rev}
	if v.rows != nil {
		v.rows.put(key, row, v.durable)
	}
	return row, true, nil
}

// getBare reads an immutable row.
func (v *View) getBare(key []byte) (Value, bool, error) {
	if v.bare == nil {
		it, err := v.it.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{}})
		if err != nil {
			return Value{}, false, err
		}
		v.bare = it
	}
	v.buf = appendBare(v.buf[:0], key)
	if !v.bare.SeekPrefixGE(v.buf) {
		return Value{}, false, v.bare.Error()
	}
	value, err := v.bare.ValueAndErr()
	if err != nil {
		return Value{}, false, err
	}
	return Value{Bytes: v.mem.copy(value)}, true, nil
}

// Reader is what a View and a Tx have in common. Code that only reads takes it,
// and works before an update and inside one.
type Reader interface {
	// Revision is the View's revision, or the one that the Tx is going to have.
	Revision() Revision
	Get(key []byte) (Value, bool, error)
	Scan(lower, upper []byte, o ScanOptions) *Iter
}

var (
	_ Reader = (*View)(nil)
	_ Reader = (*Tx)(nil)
)
