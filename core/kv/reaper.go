package kv

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// A step of the reaper is bounded by both, whichever comes first.
const (
	stepBytes  = 256 << 10
	stepMillis = 2
)

// compactAfter is how many reaped versions make it worth while to compact what
// they lay in, so that scans do not step over their remains.
const compactAfter = 4096

// ReapResult says what a run of the reaper did.
type ReapResult struct {
	// Dropped counts versions and deletions that are gone.
	Dropped int64
	// Kept counts rows that went to the queue of a hold.
	Kept int64
	// Steps counts the updates that this took.
	Steps int64
}

func (r *ReapResult) add(o ReapResult) {
	r.Dropped += o.Dropped
	r.Kept += o.Kept
	r.Steps += o.Steps
}

// queued is a row of a reaper's queue, with memory of its own.
type queued struct {
	key    []byte // of the row, physical
	victim keys.Victim
	row    record.Victim
	hold   HoldID // whose queue the row is in; 0 is the root's
}

// Reap drops, in every root, each version that was superseded longer ago than
// the history window and that no hold needs, and what released holds had kept.
// It works in bounded steps that let other updates go first, and returns when
// nothing is left to do.
func (s *Store) Reap(ctx context.Context) (ReapResult, error) {
	var total ReapResult
	if err := s.enter(); err != nil {
		return total, err
	}
	defer s.leave()
	s.reapMu.Lock()
	defer s.reapMu.Unlock()
	if s.readOnly.on.Load() {
		return total, s.noSpace()
	}
	roots, _ := s.Roots()
	for _, root := range roots {
		r, err := s.reapRoot(ctx, root.state)
		total.add(r)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (s *Store) reapRoot(ctx context.Context, st *rootState) (total ReapResult, err error) {
	for more := true; more; {
		var r ReapResult
		r, more, err = s.reapStep(ctx, st)
		total.add(r)
		if err != nil {
			return total, err
		}
	}
	for {
		id, ok := st.nextReleased()
		if !ok {
			break
		}
		r, err := s.reapReleasedStep(ctx, st, id)
		total.add(r)
		if err != nil {
			return total, err
		}
	}
	return total, s.compactReaped(ctx, st)
}

func (st *rootState) nextReleased() (HoldID, bool) {
	st.holdMu.RLock()
	defer st.holdMu.RUnlock()
	if len(st.holds.released) == 0 {
		return 0, false
	}
	return st.holds.released[0], true
}

// reapStep handles one batch of the root's queue. more says that there may be
// another.
func (s *Store) reapStep(ctx context.Context, st *rootState) (r ReapResult, more bool, err error) {
	rows, more, err := s.expired(st)
	if err != nil || len(rows) == 0 {
		return r, false, err
	}
	// Whoever reads below this is refused from now on, and after a restart too,
	// before anything that they would miss is dropped (KV-8).
	floor := rows[len(rows)-1].victim.Revision
	if err := s.raiseFloor(ctx, st, floor); err != nil {
		return r, false, err
	}
	r, err = s.drop(ctx, st, rows, nil)
	if err == nil {
		last := rows[len(rows)-1].key
		st.reapFrom = last[:len(last)-1]
	}
	return r, more, err
}

// reapReleasedStep handles one batch of a released hold's queue, and forgets the
// hold when it is empty.
func (s *Store) reapReleasedStep(ctx context.Context, st *rootState, id HoldID) (ReapResult, error) {
	prefix := keys.AppendUint64(keys.AppendPrefix(nil, keys.SpaceHoldQueue, st.id), uint64(id))
	rows, more, err := s.readQueue(prefix, keys.AppendEnd(nil, prefix), func(key, value []byte) (queued, bool, error) {
		_, _, victim, err := keys.CutHoldReap(key)
		if err != nil {
			return queued{}, false, err
		}
		row, err := record.DecodeVictim(value)
		return queued{victim: victim, row: row, hold: id}, true, err
	})
	if err != nil {
		return ReapResult{}, err
	}
	var forget *HoldID
	if !more {
		forget = &id
	}
	return s.drop(ctx, st, rows, forget)
}

// expired reads the next rows of the root's queue whose time has come: they are
// older than the history window, and what superseded them is durable.
func (s *Store) expired(st *rootState) (rows []queued, more bool, err error) {
	before := s.clk.Now().UnixMilli() - s.opts.HistoryWindow.Milliseconds()
	durable := st.durable.Load()
	lower, upper := keys.SpaceBounds(keys.SpaceReapQueue, st.id)
	if st.reapFrom != nil {
		lower = st.reapFrom
	}
	return s.readQueue(lower, upper, func(key, value []byte) (queued, bool, error) {
		_, victim, err := keys.CutReap(key)
		if err != nil {
			return queued{}, false, err
		}
		row, err := record.DecodeVictim(value)
		return queued{victim: victim, row: row}, row.AtMillis <= before && victim.Revision <= durable, err
	})
}

// readQueue reads rows until decode says that the next one has to wait, or a
// step is full.
func (s *Store) readQueue(lower, upper []byte, decode func(key, value []byte) (queued, bool, error)) (rows []queued, more bool, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: appendBare(nil, lower), UpperBound: appendBare(nil, upper)})
	if err != nil {
		return nil, false, err
	}
	size := 0
	for valid := it.First(); valid; valid = it.Next() {
		key, _, ok := splitPhysical(it.Key())
		if !ok {
			err = keys.ErrMalformed
			break
		}
		q, due, decodeErr := decode(key, it.Value())
		if decodeErr != nil || !due {
			err = decodeErr
			break
		}
		// A row costs its own deletion and its victim's, or its move.
		if size += 3*len(key) + 2*len(it.Value()); size > stepBytes {
			more = true
			break
		}
		q.key, q.row.Key = bytes.Clone(it.Key()), bytes.Clone(q.row.Key)
		rows = append(rows, q)
	}
	return rows, more, errors.Join(err, it.Error(), it.Close())
}

// raiseFloor returns when the root's floor is at least rev, durably.
func (s *Store) raiseFloor(ctx context.Context, st *rootState, rev uint64) error {
	if st.floor.Load() >= rev {
		return nil
	}
	own, err := s.applyFloor(ctx, st, rev)
	if err != nil {
		return err
	}
	return s.syncWait(own)
}

func (s *Store) applyFloor(ctx context.Context, st *rootState, rev uint64) (*commit, error) {
	if err := s.seq.acquire(ctx, background); err != nil {
		return nil, err
	}
	defer s.seq.release()
	b := s.db.NewBatch()
	if err := b.Set(appendBare(nil, keys.AppendFloor(nil, st.id)), record.AppendFloor(nil, record.Floor{Revision: rev}), nil); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	own, err := s.apply(b, nil, 0)
	if err == nil {
		st.floor.Store(rev)
	}
	return own, err
}

// drop deletes the victims of rows that no hold needs, and moves the others to
// the queue of a hold that does. Holds are looked at in the very turn that
// deletes, so one minted at any moment before is honoured. The turn ends after
// stepMillis, and the rest takes another. forget names a released hold whose
// queue is empty with these rows.
func (s *Store) drop(ctx context.Context, st *rootState, rows []queued, forget *HoldID) (total ReapResult, err error) {
	for first := true; first || len(rows) > 0; first = false {
		done, r, err := s.dropTurn(ctx, st, rows, forget)
		total.add(r)
		if err != nil {
			return total, err
		}
		rows = rows[done:]
	}
	return total, nil
}

func (s *Store) dropTurn(ctx context.Context, st *rootState, rows []queued, forget *HoldID) (done int, r ReapResult, err error) {
	if err := s.seq.acquire(ctx, background); err != nil {
		return 0, r, err
	}
	defer s.seq.release()
	d := dropper{store: s, root: st, batch: s.db.NewBatch(), gone: make(map[string]struct{}, len(rows))}
	defer func() { err = errors.Join(err, d.close()) }()
	started := s.clk.Now()
	for done < len(rows) {
		if err := d.row(&rows[done]); err != nil {
			return 0, r, err
		}
		done++
		if done%64 == 0 && s.clk.Now().Sub(started).Milliseconds() >= stepMillis {
			break
		}
	}
	if forget != nil && done == len(rows) {
		key := appendBare(nil, keys.AppendHold(nil, st.id, uint64(*forget)))
		if err := d.batch.Delete(key, nil); err != nil {
			return 0, r, err
		}
	}
	if err := d.sealHooks(); err != nil {
		return 0, r, err
	}
	// Nobody waits for these deletions: a crash that loses them loses them with
	// the deletions of their queue rows, and they are done again.
	s.counters.bytes.Add(uint64(d.batch.Len()))
	s.space.wrote(d.batch.Len())
	if err := s.db.Apply(d.batch, pebble.NoSync); err != nil {
		s.die(err)
		return 0, r, s.deadFault()
	}
	if forget != nil && done == len(rows) {
		st.holdMu.Lock()
		st.holds.forget(*forget)
		st.holdMu.Unlock()
	}
	d.result.Steps = 1
	s.counters.reaped.Add(uint64(d.result.Dropped))
	return done, d.result, nil
}

// dropper is one turn of the reaper.
type dropper struct {
	store *Store
	root  *rootState
	batch *pebble.Batch
	it    *pebble.Iterator
	gone  map[string]struct{} // physical keys of versions dropped in this turn
	// tx is what hooks write into; nil until one is called.
	tx     *Tx
	result ReapResult
	buf    []byte
}

func (d *dropper) close() error {
	d.closeHooks()
	err := d.batch.Close()
	if d.it != nil {
		err = errors.Join(err, d.it.Close())
	}
	return err
}

func (d *dropper) row(q *queued) error {
	var keeper HoldID
	var kept bool
	if q.row.Revision == q.victim.Revision {
		// A deletion: it must stay as long as it covers an older version. Over
		// another deletion it covers nothing, whatever that one is kept for.
		older, live, err := d.olderThan(q.row.Key, Revision(q.row.Revision))
		if err != nil {
			return err
		}
		if live {
			keeper, kept = d.root.holds.covering(q.row.Key, older, Revision(q.row.Revision))
			if !kept {
				// The older version's own row is yet to come, in the queue of a
				// released hold; this one goes after it.
				keeper, kept = d.releasedQueueOf(q.row.Key, older)
			}
		}
	} else {
		keeper, kept = d.root.holds.covering(q.row.Key, Revision(q.row.Revision), Revision(q.victim.Revision))
	}
	switch {
	case kept && keeper == q.hold:
		// Only a deletion in a released hold's own queue gets here: what it covers
		// is dropped by an earlier row of the same queue, so it never does.
		return errors.New("kv: a row is kept by the queue that it leaves (KV-7)")
	case kept:
		return d.move(q, keeper)
	default:
		return d.drop(q)
	}
}

func (d *dropper) drop(q *queued) error {
	if err := d.reapHook(q); err != nil {
		return err
	}
	d.buf = appendVersioned(d.buf[:0], q.row.Key, Revision(q.row.Revision))
	d.gone[string(d.buf)] = struct{}{}
	d.root.reaped.include(q.row.Key)
	d.result.Dropped++
	return errors.Join(d.batch.Delete(d.buf, nil), d.batch.Delete(q.key, nil))
}

func (d *dropper) move(q *queued, keeper HoldID) error {
	d.result.Kept++
	key := appendBare(nil, keys.AppendHoldReap(nil, d.root.id, uint64(keeper), q.victim))
	return errors.Join(d.batch.Set(key, record.AppendVictim(nil, q.row), nil), d.batch.Delete(q.key, nil))
}

func (d *dropper) open() (err error) {
	if d.it == nil {
		d.it, err = d.store.db.NewIter(&pebble.IterOptions{})
	}
	return err
}

// olderThan finds the next older version of a key that this turn leaves alone,
// and reports whether there is one and it is no deletion.
func (d *dropper) olderThan(key []byte, rev Revision) (older Revision, live bool, err error) {
	if err := d.open(); err != nil {
		return 0, false, err
	}
	d.buf = appendVersioned(d.buf[:0], key, rev-1)
	for valid := rev > 1 && d.it.SeekPrefixGE(d.buf); valid; valid = d.it.Next() {
		if _, gone := d.gone[string(d.it.Key())]; gone {
			continue
		}
		_, older, ok := splitPhysical(d.it.Key())
		if !ok {
			return 0, false, keys.ErrMalformed
		}
		stored, err := d.it.ValueAndErr()
		if err != nil {
			return 0, false, err
		}
		_, deleted, err := splitValue(stored)
		return older, !deleted, err
	}
	return 0, false, d.it.Error()
}

// releasedQueueOf finds the released hold whose queue still has the row of a
// version. A released hold's queue is in the order of revisions and short, and
// this is rare: a deletion expired between the release and its reaping.
func (d *dropper) releasedQueueOf(key []byte, rev Revision) (HoldID, bool) {
	for _, id := range d.root.holds.released {
		prefix := keys.AppendUint64(keys.AppendPrefix(nil, keys.SpaceHoldQueue, d.root.id), uint64(id))
		it, err := d.store.db.NewIter(&pebble.IterOptions{
			LowerBound: appendBare(nil, prefix), UpperBound: appendBare(nil, keys.AppendEnd(nil, prefix)),
		})
		if err != nil {
			continue
		}
		found := false
		for valid := it.First(); valid && !found; valid = it.Next() {
			row, err := record.DecodeVictim(it.Value())
			found = err == nil && Revision(row.Revision) == rev && bytes.Equal(row.Key, key)
		}
		if it.Close() == nil && found {
			return id, true
		}
	}
	return 0, false
}

// reapedSpan collects, by space, between which keys versions were dropped since
// the last compaction. The reaper alone uses it.
type reapedSpan struct {
	count  int
	spaces map[byte]*[2][]byte
}

func (r *reapedSpan) include(key []byte) {
	r.count++
	if r.spaces == nil {
		r.spaces = make(map[byte]*[2][]byte)
	}
	span := r.spaces[key[0]]
	if span == nil {
		r.spaces[key[0]] = &[2][]byte{slices.Clone(key), slices.Clone(key)}
		return
	}
	if bytes.Compare(key, span[0]) < 0 {
		span[0] = append(span[0][:0], key...)
	}
	if bytes.Compare(key, span[1]) > 0 {
		span[1] = append(span[1][:0], key...)
	}
}

// compactReaped compacts the spans in which many versions were dropped, and the
// queue that they were listed in.
func (s *Store) compactReaped(ctx context.Context, st *rootState) error {
	if st.reaped.count < compactAfter {
		return nil
	}
	if err := s.db.Flush(); err != nil {
		return err
	}
	lower, upper := keys.SpaceBounds(keys.SpaceReapQueue, st.id)
	spans := [][2][]byte{{lower, upper}}
	for _, span := range st.reaped.spaces {
		spans = append(spans, [2][]byte{span[0], append(slices.Clone(span[1]), 0)})
	}
	for _, span := range spans {
		if err := s.db.Compact(ctx, appendBare(nil, span[0]), appendBare(nil, span[1]), false); err != nil {
			return err
		}
	}
	st.reaped = reapedSpan{}
	s.counters.compactions.Add(1)
	return nil
}
