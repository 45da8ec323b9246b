package kv

import (
	"cmp"
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
	// Kind and Owner are whatever the one who minted the hold said.
	Kind  byte
	Owner []byte
}

// holdTable has the holds of a root in memory: active ones by revision, then by
// id, and those that were released and still have a queue to empty.
type holdTable struct {
	active   []Hold
	released []HoldID
}

func compareHolds(a, b Hold) int {
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.ID, b.ID))
}

// at reports whether a hold is exactly at rev.
func (t *holdTable) at(rev Revision) bool {
	_, ok := t.covering(rev, rev+1)
	return ok
}

// covering returns a hold that needs a version which is visible from its
// revision up to, and without, the one that superseded it.
func (t *holdTable) covering(from, superseded Revision) (HoldID, bool) {
	i, _ := slices.BinarySearchFunc(t.active, from, func(h Hold, rev Revision) int {
		if h.Revision < rev {
			return -1
		}
		return 1
	})
	if i < len(t.active) && t.active[i].Revision < superseded {
		return t.active[i].ID, true
	}
	return 0, false
}

func (t *holdTable) find(id HoldID) int {
	return slices.IndexFunc(t.active, func(h Hold) bool { return h.ID == id })
}

func (t *holdTable) add(h Hold) {
	i, _ := slices.BinarySearchFunc(t.active, h, compareHolds)
	t.active = slices.Insert(t.active, i, h)
}

func (t *holdTable) release(id HoldID) {
	if i := t.find(id); i >= 0 {
		t.active = slices.Delete(t.active, i, i+1)
		t.released = append(t.released, id)
	}
}

func (t *holdTable) forget(id HoldID) {
	if i := slices.Index(t.released, id); i >= 0 {
		t.released = slices.Delete(t.released, i, i+1)
	}
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
			st.holds.add(Hold{ID: HoldID(id), Revision: Revision(h.Revision), Kind: h.Kind, Owner: slices.Clone(h.Owner)})
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
	if tx.err != nil {
		return 0, tx.err
	}
	if rev > tx.rev {
		return 0, ErrAhead
	}
	if !tx.root.readable(rev) && !tx.heldHere(rev) {
		return 0, ErrBelowFloor
	}
	tx.bytes += len(owner)
	if len(owner) > MaxValueBytes || tx.bytes > MaxUpdateBytes {
		tx.fail(ErrTooLarge)
		return 0, tx.err
	}
	id := HoldID(tx.root.holdSerial + 1)
	for _, c := range tx.holds {
		if !c.release {
			id++
		}
	}
	tx.holds = append(tx.holds, heldChange{hold: Hold{ID: id, Revision: rev, Kind: kind, Owner: slices.Clone(owner)}})
	return id, nil
}

// heldHere reports whether this update itself holds rev already.
func (tx *Tx) heldHere(rev Revision) bool {
	return slices.ContainsFunc(tx.holds, func(c heldChange) bool { return !c.release && c.hold.Revision == rev })
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
	i := tx.root.holds.find(id)
	if i < 0 {
		return ErrNoHold
	}
	tx.holds = append(tx.holds, heldChange{hold: tx.root.holds.active[i], release: true})
	return nil
}

// Holds returns the root's holds as this update sees them, by revision.
func (tx *Tx) Holds() []Hold {
	table := holdTable{active: slices.Clone(tx.root.holds.active)}
	for _, c := range tx.holds {
		if c.release {
			table.release(c.hold.ID)
		} else {
			table.add(c.hold)
		}
	}
	return table.active
}

func (tx *Tx) sealHolds(b *pebble.Batch) error {
	serial := tx.root.holdSerial
	for _, c := range tx.holds {
		h := record.Hold{Revision: uint64(c.hold.Revision), Released: c.release, Kind: c.hold.Kind, Owner: c.hold.Owner}
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
