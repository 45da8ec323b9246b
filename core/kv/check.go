package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Problem is one violation of an invariant.
type Problem struct {
	// Check is the name under which the check was registered.
	Check string
	// Invariant is its number, such as KV-7.
	Invariant string
	// Key is the row concerned, without a revision; nil when there is no one row.
	Key []byte
	// Text says what is wrong, for the operator.
	Text string
}

// String returns the problem on one line.
func (p Problem) String() string { return p.Check + ": " + p.Invariant + ": " + p.Detail() }

// Detail says what is wrong and where.
func (p Problem) Detail() string {
	if p.Key == nil {
		return p.Text
	}
	return p.Text + " (key " + formatKey(p.Key) + ")"
}

func formatKey(key []byte) string {
	space, root, ok := keys.Of(key)
	if !ok {
		return fmt.Sprintf("%x", key)
	}
	return fmt.Sprintf("%s/%d/%q", space.Name, root, key[keys.PrefixLen:])
}

// Report is the outcome of Check.
type Report struct {
	// Checks names what ran, in order.
	Checks []string
	// Rows counts the rows that the store's own check read.
	Rows     int64
	Problems []Problem
}

// Err returns an error that lists the problems, or nil when there is none.
func (r Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	lines := make([]string, len(r.Problems))
	for i, p := range r.Problems {
		lines[i] = p.String()
	}
	return errors.New("check found problems:\n" + strings.Join(lines, "\n"))
}

// CheckFunc verifies the invariants of one package. It returns problems, not the
// first one only; Problem.Check is filled in by Check.
type CheckFunc func(ctx context.Context, v *CheckView) []Problem

type registeredCheck struct {
	name string
	fn   CheckFunc
}

// RegisterCheck adds a check to what Check runs. Packages register when they
// open; a name registered again replaces the earlier check.
func (s *Store) RegisterCheck(name string, fn CheckFunc) {
	s.checksMu.Lock()
	defer s.checksMu.Unlock()
	for i := range s.checks {
		if s.checks[i].name == name {
			s.checks[i].fn = fn
			return
		}
	}
	s.checks = append(s.checks, registeredCheck{name, fn})
}

// CheckView is one state of the whole store: every root at its last applied
// revision, and the housekeeping rows that go with it.
type CheckView struct {
	store    *Store
	snapshot *pebble.Snapshot
	roots    []*rootState
	heads    []Revision
	floors   []uint64
	told     int64
	holds    [][]Hold
	released [][]HoldID
}

// Roots returns the registered roots in the order of their ids, with their names.
func (c *CheckView) Roots() ([]Root, []RootName) {
	roots, names := make([]Root, len(c.roots)), make([]RootName, len(c.roots))
	for i, st := range c.roots {
		roots[i], names[i] = Root{st}, st.name
	}
	return roots, names
}

// Store returns the store that is checked.
func (c *CheckView) Store() *Store { return c.store }

// View returns a view of a root at its last applied revision, until Check
// returns. A root that is not in Roots has nothing.
func (c *CheckView) View(root Root) *View {
	v := &View{store: c.store, root: root.state}
	for i, st := range c.roots {
		if st == root.state {
			v.rev = c.heads[i]
		}
	}
	v.it, _ = c.snapshot.NewIter(nil)
	return v
}

// Release gives back what View took.
func (c *CheckView) Release(v *View) {
	_ = v.it.Close()
	if v.bare != nil {
		_ = v.bare.Close()
	}
}

// Housekeeping returns the rows of [lower, upper) of a housekeeping space.
func (c *CheckView) Housekeeping(lower, upper []byte) *Iter {
	space, _, ok := keys.Of(lower)
	if !ok || space.Versioned {
		return &Iter{err: ErrForeignKey}
	}
	if err := checkUpper(lower, upper); err != nil {
		return &Iter{err: err}
	}
	low, up := boundsOf(lower, upper)
	it, err := c.snapshot.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: up})
	if err != nil {
		return &Iter{err: err}
	}
	return newIter(it, newest, ScanOptions{})
}

// Versions calls fn with every version of every row in [lower, upper) of a
// versioned space, in key order and newest first, deletions left out. The slices
// are valid until fn returns.
func (c *CheckView) Versions(lower, upper []byte, fn func(key []byte, rev Revision, value []byte)) error {
	space, _, ok := keys.Of(lower)
	if !ok || !space.Versioned {
		return ErrForeignKey
	}
	if err := checkUpper(lower, upper); err != nil {
		return err
	}
	low, up := boundsOf(lower, upper)
	it, err := c.snapshot.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: up})
	if err != nil {
		return err
	}
	for valid := it.First(); valid; valid = it.Next() {
		key, rev, ok := splitPhysical(it.Key())
		if !ok {
			err = keys.ErrMalformed
			break
		}
		stored, valueErr := it.ValueAndErr()
		value, deleted, splitErr := splitValue(stored)
		if err = errors.Join(valueErr, splitErr); err != nil {
			break
		}
		if !deleted {
			fn(key, rev, value)
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

// Check reads the whole store and verifies the numbered invariants of this
// package and of every package that registered a check, on one state of the
// store. Updates go on meanwhile.
func (s *Store) Check(ctx context.Context) Report {
	var report Report
	failed := func(err error) Report {
		report.Problems = append(report.Problems, Problem{Check: "kv", Invariant: "KV-0", Text: err.Error()})
		return report
	}
	if err := s.enter(); err != nil {
		return failed(err)
	}
	defer s.leave()
	c, err := s.checkView(ctx)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = c.snapshot.Close() }()
	s.checksMu.Lock()
	checks := append([]registeredCheck{{"kv", func(ctx context.Context, v *CheckView) []Problem {
		return (&walk{view: v}).run(ctx, &report.Rows)
	}}}, s.checks...)
	s.checksMu.Unlock()
	for _, check := range checks {
		report.Checks = append(report.Checks, check.name)
		for _, p := range check.fn(ctx, c) {
			p.Check = check.name
			report.Problems = append(report.Problems, p)
		}
	}
	return report
}

func (s *Store) checkView(ctx context.Context) (*CheckView, error) {
	if err := s.seq.acquire(ctx, background); err != nil {
		return nil, err
	}
	defer s.seq.release()
	c := &CheckView{store: s, snapshot: s.db.NewSnapshot()}
	c.told = s.toldMillis
	s.rootsMu.RLock()
	defer s.rootsMu.RUnlock()
	for _, st := range s.byID {
		c.roots = append(c.roots, st)
		c.heads = append(c.heads, st.head)
		c.floors = append(c.floors, st.floor.Load())
		c.holds = append(c.holds, st.holds.all())
		c.released = append(c.released, slices.Clone(st.holds.released))
	}
	return c, nil
}

// walk reads every row of a store in key order.
type walk struct {
	view     *CheckView
	problems []Problem

	// queued has the rows of every reaper's queue: which versions they name.
	queued map[string]struct{}

	// key and newer are the row before, which is a newer version of the row that
	// passes when the keys are the same.
	key   []byte
	newer Revision
	// latest is the latest instant that any row holds.
	latest int64
}

func (w *walk) problem(invariant string, key []byte, format string, args ...any) {
	if len(w.problems) < 100 {
		w.problems = append(w.problems, Problem{Invariant: invariant, Key: bytes.Clone(key), Text: fmt.Sprintf(format, args...)})
	}
}

func (w *walk) run(ctx context.Context, rows *int64) []Problem {
	w.queued = make(map[string]struct{})
	w.heads()
	w.queues()
	it, err := w.view.snapshot.NewIter(nil)
	if err != nil {
		w.problem("KV-0", nil, "%v", err)
		return w.problems
	}
	for valid := it.First(); valid; valid = it.Next() {
		if *rows++; *rows%4096 == 0 && ctx.Err() != nil {
			w.problem("KV-0", nil, "the check was stopped: %v", ctx.Err())
			break
		}
		w.visit(it)
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		w.problem("KV-0", nil, "%v", err)
	}
	if w.latest > w.view.told {
		w.problem("KV-10", nil, "a row is stamped %d, the clock has told %d", w.latest, w.view.told)
	}
	for physical := range w.queued {
		key, rev, _ := splitPhysical([]byte(physical))
		w.problem("KV-7", key, "a queue names version %d, which is not superseded or does not exist", rev)
	}
	return w.problems
}

// heads compares what the store has in memory with the rows.
func (w *walk) heads() {
	for i, st := range w.view.roots {
		if st.id != uint32(i+1) {
			w.problem("KV-1", nil, "root %d has id %d", i+1, st.id)
		}
		if w.view.floors[i] > uint64(w.view.heads[i]) {
			w.problem("KV-8", nil, "root %d: floor %d is above head %d", st.id, w.view.floors[i], w.view.heads[i])
		}
		for _, h := range w.view.holds[i] {
			if h.Revision > w.view.heads[i] {
				w.problem("KV-9", nil, "root %d: hold %d is at %d, above head %d", st.id, h.ID, h.Revision, w.view.heads[i])
			}
			if uint64(h.ID) > st.holdSerial {
				w.problem("KV-9", nil, "root %d: hold %d is above the serial %d", st.id, h.ID, st.holdSerial)
			}
		}
	}
}

func (w *walk) queues() {
	for i, st := range w.view.roots {
		known := make(map[uint64]struct{}, len(w.view.holds[i])+len(w.view.released[i]))
		for _, h := range w.view.holds[i] {
			known[uint64(h.ID)] = struct{}{}
		}
		for _, released := range w.view.released[i] {
			known[uint64(released)] = struct{}{}
		}
		w.queue(st.id, keys.SpaceReapQueue, func(key []byte) (keys.Victim, error) {
			_, v, err := keys.CutReap(key)
			return v, err
		})
		w.queue(st.id, keys.SpaceHoldQueue, func(key []byte) (keys.Victim, error) {
			_, id, v, err := keys.CutHoldReap(key)
			if _, ok := known[id]; !ok {
				w.problem("KV-7", key, "queue of hold %d, which does not exist", id)
			}
			return v, err
		})
	}
}

func (w *walk) queue(root uint32, space byte, cut func(key []byte) (keys.Victim, error)) {
	it := w.view.Housekeeping(keys.SpaceBounds(space, root))
	for it.Next() {
		victim, err := cut(it.Key())
		if err != nil {
			w.problem("KV-6", it.Key(), "%v", err)
			continue
		}
		row, err := record.DecodeVictim(it.Value().Bytes)
		if err != nil {
			w.problem("KV-6", it.Key(), "%v", err)
			continue
		}
		w.latest = max(w.latest, row.AtMillis)
		if row.Revision > victim.Revision {
			w.problem("KV-7", it.Key(), "version %d superseded by %d", row.Revision, victim.Revision)
		}
		physical := string(appendVersioned(nil, row.Key, Revision(row.Revision)))
		if _, twice := w.queued[physical]; twice {
			w.problem("KV-7", row.Key, "version %d is in a queue twice", row.Revision)
		}
		w.queued[physical] = struct{}{}
	}
	if err := it.Close(); err != nil {
		w.problem("KV-0", nil, "%v", err)
	}
}

// visit checks one row against the table and against the row before it.
func (w *walk) visit(it *pebble.Iterator) {
	key, rev, ok := splitPhysical(it.Key())
	if !ok {
		w.problem("KV-6", it.Key(), "not a key of this store")
		return
	}
	space, root, ok := keys.Of(key)
	if !ok {
		w.problem("KV-6", key, "no space of the table")
		return
	}
	if space.Versioned != (rev != 0) {
		w.problem("KV-6", key, "a %s row with revision %d", space.Name, rev)
		return
	}
	if int(root) > len(w.view.roots) || root == keys.StoreRoot && space.Versioned {
		w.problem("KV-1", key, "root %d is not registered", root)
		return
	}
	stored, err := it.ValueAndErr()
	if err != nil {
		w.problem("KV-0", key, "%v", err)
		return
	}
	if !space.Versioned {
		w.own(space, key, stored)
		return
	}
	_, deleted, err := splitValue(stored)
	if err != nil {
		w.problem("KV-6", key, "%v", err)
	}
	if head := w.view.heads[root-1]; rev > head {
		w.problem("KV-2", key, "version %d is above head %d", rev, head)
	}
	superseded := bytes.Equal(key, w.key)
	if superseded && rev >= w.newer {
		w.problem("KV-2", key, "version %d comes after %d", rev, w.newer)
	}
	w.key, w.newer = append(w.key[:0], key...), rev
	if !superseded && !deleted {
		return
	}
	if _, listed := w.queued[string(it.Key())]; !listed {
		w.problem("KV-7", key, "version %d is superseded or a deletion, and in no queue", rev)
		return
	}
	delete(w.queued, string(it.Key()))
}

// own decodes the rows that this package writes.
func (w *walk) own(space *keys.Space, key, stored []byte) {
	var err error
	switch space.ID {
	case keys.SpaceRoots:
		_, err = record.DecodeRootEntry(stored)
	case keys.SpaceRootHead:
		var h record.RootHead
		h, err = record.DecodeRootHead(stored)
		if _, root, _ := keys.Of(key); err == nil && (root == 0 || Revision(h.Revision) != w.view.heads[root-1]) {
			w.problem("KV-1", key, "the head row says %d", h.Revision)
		}
		w.latest = max(w.latest, h.AtMillis)
	case keys.SpaceFloor:
		_, err = record.DecodeFloor(stored)
	case keys.SpaceHolds:
		_, err = record.DecodeHold(stored)
	case keys.SpaceHoldSerial:
		_, err = record.DecodeHoldSerial(stored)
	case keys.SpaceClock:
		_, err = record.DecodeClockMark(stored)
	case keys.SpaceMeta:
		_, err = record.DecodeMeta(stored)
	}
	if err != nil {
		w.problem("KV-6", key, "%v", err)
	}
}
