package kv

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// ScanOptions bound a scan.
type ScanOptions struct {
	// Limit ends the scan after so many rows; 0 means no limit.
	Limit int
}

// seekAfter is how many versions of one key a scan steps over before it seeks.
const seekAfter = 8

// Iter goes through the visible rows of a range in key order. It belongs to the
// View or Tx that made it, and is closed before their closure returns.
//
//	it := v.Scan(lower, upper, kv.ScanOptions{})
//	defer it.Close()
//	for it.Next() {
//		use(it.Key(), it.Value())
//	}
//	return it.Err()
type Iter struct {
	it  *pebble.Iterator
	at  Revision
	err error

	newer *newerSkipper // nil unless the View is of an earlier revision

	left int // rows until the limit; negative means no limit

	// The applied side. key and value alias Pebble's memory until the next step.
	started bool
	row     row
	hasRow  bool
	last    []byte // key of row, kept over steps

	// The own side: writes of the Tx that the scan belongs to, in key order.
	own    []write
	ownAt  int
	ownRev Revision

	cur    row
	seek   []byte
	primed bool
}

type row struct {
	key, value []byte
	rev        Revision
}

// Scan returns the rows of [lower, upper) that are visible at the View's
// revision. The bounds begin with a space and a root, the same in both.
func (v *View) Scan(lower, upper []byte, o ScanOptions) *Iter {
	if err := v.checkRange(lower, upper); err != nil {
		return &Iter{err: err}
	}
	if v.rev == 0 {
		return &Iter{}
	}
	opts := v.opts
	var newer *newerSkipper
	if !keys.Lookup(lower[0]).Versioned {
		opts.PointKeyFilters = nil
	} else if opts.PointKeyFilters != nil {
		// A filter is used by one iterator.
		opts.PointKeyFilters = append(make([]pebble.BlockPropertyFilter, 0, 2), revisionFilter(v.rev))
		newer = &newerSkipper{at: v.rev}
		opts.SkipPoint = newer.skip
	}
	opts.LowerBound, opts.UpperBound = boundsOf(lower, upper)
	it, err := v.it.Clone(pebble.CloneOptions{IterOptions: &opts})
	if err != nil {
		return &Iter{err: err}
	}
	i := newIter(it, v.rev, o)
	i.newer = newer
	return i
}

func (v *View) checkRange(lower, upper []byte) error {
	if err := v.check(lower); err != nil {
		return err
	}
	if err := checkUpper(lower, upper); err != nil || !v.reach.partial || !keys.Lookup(lower[0]).Versioned {
		return err
	}
	// lower is within some prefix; the range must not leave it.
	if !slices.ContainsFunc(v.reach.prefixes, func(p string) bool {
		return len(lower) >= len(p) && string(lower[:len(p)]) == p && bytes.Compare(upper, keys.AppendEnd(nil, []byte(p))) <= 0
	}) {
		return ErrBelowFloor
	}
	return nil
}

// checkUpper refuses a range that leaves the space and root of its lower bound.
func checkUpper(lower, upper []byte) error {
	end := keys.AppendEnd(nil, lower[:keys.PrefixLen])
	if len(upper) == 0 || bytes.Compare(upper, end) > 0 {
		return ErrForeignKey
	}
	return nil
}

// Scan returns the newest applied rows of [lower, upper), with the writes that
// this update has made before the call. The bounds begin with a space and a
// root, the same in both.
func (tx *Tx) Scan(lower, upper []byte, o ScanOptions) *Iter {
	if _, ok := tx.spaceOf(lower); !ok || tx.err != nil {
		return &Iter{err: tx.err}
	}
	if err := checkUpper(lower, upper); err != nil {
		tx.fail(err)
		return &Iter{err: err}
	}
	low, up := boundsOf(lower, upper)
	it, err := tx.store.db.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: up})
	if err != nil {
		tx.fail(err)
		return &Iter{err: err}
	}
	i := newIter(it, newest, o)
	if len(tx.writes) > 0 {
		i.own, i.ownRev = tx.sortedWrites(lower, upper), tx.rev
	}
	return i
}

func boundsOf(lower, upper []byte) (low, up []byte) {
	buf := make([]byte, 0, len(lower)+len(upper)+2)
	buf = appendBare(buf, lower)
	n := len(buf)
	buf = appendBare(buf, upper)
	return buf[:n:n], buf[n:]
}

func newIter(it *pebble.Iterator, at Revision, o ScanOptions) *Iter {
	i := &Iter{it: it, at: at, left: -1}
	if o.Limit > 0 {
		i.left = o.Limit
	}
	return i
}

// Next moves to the next row and reports whether there is one. The first call
// moves to the first row.
func (i *Iter) Next() bool {
	if i.err != nil || i.left == 0 {
		return false
	}
	if !i.primed {
		i.primed = true
		i.stepApplied()
	} else if i.hasRow && bytes.Equal(i.cur.key, i.row.key) {
		i.stepApplied()
	}
	return i.settle()
}

// SeekGE moves to the first row whose key is at least key, inside the bounds,
// and reports whether there is one. It may move backwards. It counts as a row.
func (i *Iter) SeekGE(key []byte) bool {
	if i.err != nil || i.left == 0 {
		return false
	}
	i.primed = true
	i.seek = appendBare(i.seek[:0], key)
	i.started = true
	i.settleApplied(i.it.SeekGE(i.seek), false)
	i.ownAt = 0
	for i.ownAt < len(i.own) && bytes.Compare(i.own[i.ownAt].key, key) < 0 {
		i.ownAt++
	}
	return i.settle()
}

// settle picks the lower of the two sides; an own write hides the applied row of
// the same key.
func (i *Iter) settle() bool {
	for i.err == nil {
		if i.ownAt >= len(i.own) {
			if !i.hasRow {
				return false
			}
			i.cur = i.row
			return i.took()
		}
		w := &i.own[i.ownAt]
		order := -1
		if i.hasRow {
			order = bytes.Compare(w.key, i.row.key)
		}
		if order > 0 {
			i.cur = i.row
			return i.took()
		}
		if order == 0 {
			i.stepApplied()
		}
		i.ownAt++
		if w.deleted {
			continue
		}
		i.cur = row{key: w.key, value: w.value}
		if w.versioned {
			i.cur.rev = i.ownRev
		}
		return i.took()
	}
	return false
}

func (i *Iter) took() bool {
	if i.left > 0 {
		i.left--
	}
	return true
}

// stepApplied moves the applied side to its next visible row.
func (i *Iter) stepApplied() {
	if !i.started {
		i.started = true
		i.settleApplied(i.it.First(), false)
		return
	}
	if i.hasRow {
		i.settleApplied(i.it.Next(), true)
	}
}

// settleApplied starts at Pebble's position and finds the first row that is
// visible and, when past is set, has another key than the last one.
func (i *Iter) settleApplied(valid, past bool) {
	i.hasRow = false
	steps := 0
	for valid {
		key, rev, ok := splitPhysical(i.it.Key())
		if !ok {
			i.err = keys.ErrMalformed
			return
		}
		switch same := past && bytes.Equal(key, i.last); {
		case same && steps < seekAfter:
			steps++
			valid = i.it.Next()
			continue
		case same:
			valid = i.it.NextPrefix()
			past = false
			continue
		case rev > i.at:
			// Too new. Its older versions come next; after a few of them, seek.
			valid = i.skipNewer(key)
			past = false
			continue
		}
		past, steps = false, 0
		stored, err := i.it.ValueAndErr()
		if err != nil {
			i.err = err
			return
		}
		value, deleted := stored, false
		if rev != 0 {
			if value, deleted, i.err = splitValue(stored); i.err != nil {
				return
			}
		}
		i.last = append(i.last[:0], key...)
		if deleted {
			valid, past = i.it.Next(), true
			continue
		}
		i.row, i.hasRow = row{key: key, value: value, rev: rev}, true
		return
	}
	i.err = i.it.Error()
}

// skipNewer leaves Pebble at the first version of key that is not above i.at, or
// at the next key.
func (i *Iter) skipNewer(key []byte) bool {
	i.last = append(i.last[:0], key...)
	for range seekAfter {
		if !i.it.Next() {
			return false
		}
		next, rev, ok := splitPhysical(i.it.Key())
		if !ok || rev <= i.at || !bytes.Equal(next, i.last) {
			return true
		}
	}
	i.seek = appendVersioned(i.seek[:0], i.last, i.at)
	return i.it.SeekGE(i.seek)
}

// Key returns the row's key, without a revision. It is valid until the next
// move; Close ends it too.
func (i *Iter) Key() []byte { return i.cur.key }

// Value returns the row's version. Unlike what Get returns, its bytes are valid
// only until the next move.
func (i *Iter) Value() Value { return Value{Bytes: i.cur.value, Rev: i.cur.rev} }

// PassedOver returns how many keys the scan has met that are newer than its View;
// those in blocks and tables with nothing else are not met.
func (i *Iter) PassedOver() int {
	if i.newer == nil {
		return 0
	}
	return i.newer.passed
}

// Err returns what ended the scan early, or nil.
func (i *Iter) Err() error { return i.err }

// Close ends the scan and returns what Err returns. It may be called twice.
func (i *Iter) Close() error {
	if i.it != nil {
		if err := i.it.Close(); err != nil && i.err == nil {
			i.err = err
		}
		i.it = nil
	}
	i.left = 0
	return i.err
}
