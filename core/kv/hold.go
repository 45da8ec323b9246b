package kv

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// HoldID names a hold within its root. Ids count from 1 and are never reused.
type HoldID uint64

// Hold is a durable promise that everything visible at one revision stays
// readable, however old it gets.
type Hold struct {
	ID       HoldID
	Revision Revision
	// Prefix limits the promise to the rows whose keys begin with it; nil promises
	// the whole root.
	Prefix []byte
	// Kind and Owner are whatever the one who minted the hold said.
	Kind  byte
	Owner []byte
}

// holdTable has the holds of a root in memory: active ones, and those that were
// released and still have a queue to empty.
type holdTable struct {
	byID map[HoldID]Hold
	// whole has the holds on the whole root; within has the others, by prefix.
	// Each is in the order of revisions, then of ids.
	whole  holdList
	within map[string]*holdList
	// withinAt has the holds within prefixes by revision.
	withinAt map[Revision][]HoldID
	// lengths are those of the prefixes in within, each once.
	lengths  []int
	released []HoldID
}

// holdList is a number of holds by revision, then by id.
type holdList []Hold

func compareHolds(a, b Hold) int {
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.ID, b.ID))
}

// covering returns the first hold of the list from a revision up to, and
// without, another.
func (l holdList) covering(from, superseded Revision) (HoldID, bool) {
	i, _ := slices.BinarySearchFunc(l, from, func(h Hold, rev Revision) int {
		if h.Revision < rev {
			return -1
		}
		return 1
	})
	if i < len(l) && l[i].Revision < superseded {
		return l[i].ID, true
	}
	return 0, false
}

func (l *holdList) add(h Hold) {
	i, _ := slices.BinarySearchFunc(*l, h, compareHolds)
	*l = slices.Insert(*l, i, h)
}

func (l *holdList) remove(h Hold) {
	if i, ok := slices.BinarySearchFunc(*l, h, compareHolds); ok {
		*l = slices.Delete(*l, i, i+1)
	}
}

// at returns what is kept at exactly rev: everything, or the rows below some
// prefixes.
func (t *holdTable) at(rev Revision) (whole bool, prefixes []string) {
	if _, ok := t.whole.covering(rev, rev+1); ok {
		return true, nil
	}
	for _, id := range t.withinAt[rev] {
		prefixes = append(prefixes, string(t.byID[id].Prefix))
	}
	return false, prefixes
}

// covering returns a hold that needs a version of a key which is visible from
// its revision up to, and without, the one that superseded it.
func (t *holdTable) covering(key []byte, from, superseded Revision) (HoldID, bool) {
	if id, ok := t.whole.covering(from, superseded); ok {
		return id, true
	}
	for _, n := range t.lengths {
		if n > len(key) {
			continue
		}
		if list := t.within[string(key[:n])]; list != nil {
			if id, ok := list.covering(from, superseded); ok {
				return id, true
			}
		}
	}
	return 0, false
}

func (t *holdTable) find(id HoldID) (Hold, bool) {
	h, ok := t.byID[id]
	return h, ok
}

func (t *holdTable) add(h Hold) {
	if t.byID == nil {
		t.byID, t.within, t.withinAt = make(map[HoldID]Hold), make(map[string]*holdList), make(map[Revision][]HoldID)
	}
	t.byID[h.ID] = h
	if h.Prefix == nil {
		t.whole.add(h)
		return
	}
	t.withinAt[h.Revision] = append(t.withinAt[h.Revision], h.ID)
	list := t.within[string(h.Prefix)]
	if list == nil {
		list = new(holdList)
		t.within[string(h.Prefix)] = list
		if !slices.Contains(t.lengths, len(h.Prefix)) {
			t.lengths = append(t.lengths, len(h.Prefix))
		}
	}
	list.add(h)
}

func (t *holdTable) release(id HoldID) {
	h, ok := t.byID[id]
	if !ok {
		return
	}
	delete(t.byID, id)
	t.released = append(t.released, id)
	if h.Prefix == nil {
		t.whole.remove(h)
		return
	}
	list := t.within[string(h.Prefix)]
	if list.remove(h); len(*list) == 0 {
		delete(t.within, string(h.Prefix))
	}
	if ids := t.withinAt[h.Revision]; len(ids) > 1 {
		t.withinAt[h.Revision] = slices.DeleteFunc(ids, func(other HoldID) bool { return other == id })
	} else {
		delete(t.withinAt, h.Revision)
	}
}

func (t *holdTable) forget(id HoldID) {
	if i := slices.Index(t.released, id); i >= 0 {
		t.released = slices.Delete(t.released, i, i+1)
	}
}

// all returns the active holds by revision, then by id.
func (t *holdTable) all() []Hold {
	return slices.SortedFunc(maps.Values(t.byID), compareHolds)
}

func (s *Store) loadHolds(st *rootState) error {
	stored, ok, err := s.getBare(keys.AppendHoldSerial(nil, st.id))
	if err != nil {
		return err
	}
	if ok {
		serial, err := record.DecodeHoldSerial(stored)
		if err != nil {
			return err
		}
		st.holdSerial = serial.Last
	}
	return s.scanBare(keys.SpaceHolds, st.id, func(key, value []byte) error {
		_, id, err := keys.CutHold(key)
		if err != nil {
			return err
		}
		h, err := record.DecodeHold(value)
		if err != nil {
			return err
		}
		if h.Released {
			st.holds.released = append(st.holds.released, HoldID(id))
		} else {
			st.holds.add(Hold{ID: HoldID(id), Revision: Revision(h.Revision), Prefix: bytes.Clone(h.Prefix), Kind: h.Kind, Owner: bytes.Clone(h.Owner)})
		}
		return nil
	})
}

// heldChange is a hold that a Tx mints or releases.
type heldChange struct {
	hold    Hold
	release bool
}

// Hold mints a hold on this update's own revision: everything that is there when
// the update is applied. It costs one row, however much there is.
func (tx *Tx) Hold(kind byte, owner []byte) (HoldID, error) {
	return tx.HoldAt(tx.rev, kind, owner)
}

// HoldAt mints a hold on an earlier revision, or on this update's own.
//
// Errors: ErrBelowFloor when the reaper may have dropped something of it already,
// ErrAhead when it is yet to come. They do not fail the update by themselves.
func (tx *Tx) HoldAt(rev Revision, kind byte, owner []byte) (HoldID, error) {
	return tx.mintHold(Hold{Revision: rev, Kind: kind, Owner: owner})
}

// HoldWithin is Hold for the rows whose keys begin with prefix only, so that
// whatever else is in the root goes its way. The prefix begins with a versioned
// space and the root.
func (tx *Tx) HoldWithin(prefix []byte, kind byte, owner []byte) (HoldID, error) {
	return tx.HoldWithinAt(tx.rev, prefix, kind, owner)
}

// HoldWithinAt is HoldWithin at an earlier revision, or at this update's own. A
// revision that a hold keeps within the prefix already is early enough.
//
// Errors: those of HoldAt; ErrForeignKey, with which the update fails, when the
// prefix is no part of the root.
func (tx *Tx) HoldWithinAt(rev Revision, prefix []byte, kind byte, owner []byte) (HoldID, error) {
	if space, root, ok := keys.Of(prefix); tx.err == nil && (!ok || !space.Versioned || root != tx.root.id) {
		tx.fail(ErrForeignKey)
	}
	return tx.mintHold(Hold{Revision: rev, Prefix: prefix, Kind: kind, Owner: owner})
}

func (tx *Tx) mintHold(h Hold) (HoldID, error) {
	if tx.err != nil {
		return 0, tx.err
	}
	if h.Revision > tx.rev {
		return 0, ErrAhead
	}
	if !tx.root.reach(h.Revision).covers(h.Prefix) && !tx.heldHere(h) {
		return 0, ErrBelowFloor
	}
	tx.bytes += len(h.Owner) + len(h.Prefix)
	if len(h.Owner)+len(h.Prefix) > MaxValueBytes || tx.bytes > MaxUpdateBytes {
		tx.fail(ErrTooLarge)
		return 0, tx.err
	}
	h.ID = HoldID(tx.root.holdSerial + 1)
	for _, c := range tx.holds {
		if !c.release {
			h.ID++
		}
	}
	h.Owner, h.Prefix = bytes.Clone(h.Owner), bytes.Clone(h.Prefix)
	tx.holds = append(tx.holds, heldChange{hold: h})
	return h.ID, nil
}

// heldHere reports whether this update itself holds already what h would.
func (tx *Tx) heldHere(h Hold) bool {
	return slices.ContainsFunc(tx.holds, func(c heldChange) bool {
		return !c.release && c.hold.Revision == h.Revision &&
			(c.hold.Prefix == nil || h.Prefix != nil && bytes.HasPrefix(h.Prefix, c.hold.Prefix))
	})
}

// Release ends a hold. What only it kept is dropped in the background.
//
// Errors: ErrNoHold when there is no such hold, or it was released before.
func (tx *Tx) Release(id HoldID) error {
	if tx.err != nil {
		return tx.err
	}
	minted := Hold{}
	for _, c := range tx.holds {
		if c.hold.ID != id {
			continue
		}
		if c.release {
			return ErrNoHold
		}
		minted = c.hold
	}
	if minted.ID != 0 {
		// Minted by this update: its row is written all the same, as released.
		tx.holds = append(tx.holds, heldChange{hold: minted, release: true})
		return nil
	}
	h, ok := tx.root.holds.find(id)
	if !ok {
		return ErrNoHold
	}
	tx.holds = append(tx.holds, heldChange{hold: h, release: true})
	return nil
}

// Holds returns the root's holds as this update sees them, by revision.
func (tx *Tx) Holds() []Hold {
	held := maps.Clone(tx.root.holds.byID)
	for _, c := range tx.holds {
		if c.release {
			delete(held, c.hold.ID)
		} else {
			if held == nil {
				held = make(map[HoldID]Hold)
			}
			held[c.hold.ID] = c.hold
		}
	}
	return slices.SortedFunc(maps.Values(held), compareHolds)
}

func (tx *Tx) sealHolds(b *pebble.Batch) error {
	serial := tx.root.holdSerial
	for _, c := range tx.holds {
		h := record.Hold{Revision: uint64(c.hold.Revision), Released: c.release, Kind: c.hold.Kind, Owner: c.hold.Owner, Prefix: c.hold.Prefix}
		key := appendBare(nil, keys.AppendHold(nil, tx.root.id, uint64(c.hold.ID)))
		if err := b.Set(key, record.AppendHold(nil, h), nil); err != nil {
			return err
		}
		serial = max(serial, uint64(c.hold.ID))
	}
	if serial == tx.root.holdSerial {
		return nil
	}
	key := appendBare(nil, keys.AppendHoldSerial(nil, tx.root.id))
	return b.Set(key, record.AppendHoldSerial(nil, record.HoldSerial{Last: serial}), nil)
}

// applyHolds brings the table in memory up to date, in the turn that applied the
// rows.
func (tx *Tx) applyHolds() {
	if len(tx.holds) == 0 {
		return
	}
	st := tx.root
	st.holdMu.Lock()
	defer st.holdMu.Unlock()
	for _, c := range tx.holds {
		if c.release {
			st.holds.release(c.hold.ID)
		} else {
			st.holds.add(c.hold)
			st.holdSerial = max(st.holdSerial, uint64(c.hold.ID))
		}
	}
}
