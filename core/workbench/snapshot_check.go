package workbench

import (
	"bytes"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// snapshotChecker verifies what doc.go says of the rows of snapshots (WB-11 to
// WB-14).
type snapshotChecker struct {
	*checker
	c    *kv.CheckView
	last uint64 // the root's serial

	snapshots map[string]record.Snapshot // by key
	held      map[string]record.Hold     // by key of the snapshot
	heldID    map[string]uint64
	armed     map[string]bool // by name of the timer
	consumed  map[string]bool // by key of the snapshot
	newest    map[string]uint64
}

func (k *checker) runSnapshots(c *kv.CheckView, scan func(space byte, visit func(key []byte, value kv.Value))) {
	s := &snapshotChecker{checker: k, c: c, snapshots: map[string]record.Snapshot{}, held: map[string]record.Hold{}, heldID: map[string]uint64{},
		armed: map[string]bool{}, consumed: map[string]bool{}, newest: map[string]uint64{}}
	s.housekeeping(keys.SpaceSnapshotSerial, s.visitSerial)
	s.housekeeping(keys.SpaceHolds, s.visitHold)
	s.housekeeping(keys.SpaceTimer, s.visitTimer)
	scan(keys.SpaceSnapshot, s.visitSnapshot)
	scan(keys.SpaceSnapshotConsumer, s.visitConsumer)
	scan(keys.SpaceSnapshotAlias, s.visitAlias)
	s.finish()
}

func (s *snapshotChecker) housekeeping(space byte, visit func(key []byte, value kv.Value)) {
	it := s.c.Housekeeping(keys.SpaceBounds(space, s.root))
	for it.Next() {
		visit(it.Key(), it.Value())
	}
	if err := it.Close(); err != nil {
		s.problem("WB-0", nil, "%v", err)
	}
}

func (s *snapshotChecker) visitSerial(key []byte, value kv.Value) {
	serial, err := record.DecodeSnapshotSerial(value.Bytes)
	if err != nil {
		s.problem("WB-11", key, "%v", err)
	}
	s.last = serial.Last
}

func (s *snapshotChecker) visitHold(key []byte, value kv.Value) {
	h, err := record.DecodeHold(value.Bytes)
	if err != nil || h.Released || h.Kind != holdSnapshot {
		return // what is wrong with it, core/kv says
	}
	_, id, err := keys.CutHold(key)
	if err != nil {
		return
	}
	if _, again := s.held[string(h.Owner)]; again {
		s.problem("WB-12", h.Owner, "two holds are its own")
	}
	h.Prefix = bytes.Clone(h.Prefix)
	s.held[string(h.Owner)], s.heldID[string(h.Owner)] = h, id
}

func (s *snapshotChecker) visitTimer(key []byte, _ kv.Value) {
	if _, kind, id, err := keys.CutTimer(key); err == nil && kind == timerSnapshot {
		s.armed[id] = true
	}
}

func (s *snapshotChecker) visitSnapshot(key []byte, value kv.Value) {
	_, in, id, err := keys.CutSnapshot(key)
	if err != nil {
		s.problem("WB-11", key, "%v", err)
		return
	}
	snapshot, err := record.DecodeSnapshot(value.Bytes)
	if err != nil {
		s.problem("WB-11", key, "%v", err)
		return
	}
	s.snapshots[string(key)] = snapshot
	if id == 0 || id > s.last {
		s.problem("WB-11", key, "the last id that was minted is %d", s.last)
	}
	if _, ok := s.heads[in]; !ok {
		s.problem("WB-2", key, "its incarnation has no head")
	}
	if snapshot.Name != nil {
		s.newest[string(keys.AppendSnapshotAlias(nil, s.root, in, *snapshot.Name))] = id // the last one is the newest
	}
	hold, held := s.held[string(key)]
	delete(s.held, string(key))
	active := snapshot.State == record.SnapshotActive
	switch {
	case active != held:
		s.problem("WB-12", key, "active is %v, and that it has a hold is %v", active, held)
	case held && (s.heldID[string(key)] != snapshot.Hold || hold.Revision != snapshot.Revision || !bytes.Equal(hold.Prefix, keys.AppendPathRecords(nil, s.root, in))):
		s.problem("WB-12", key, "hold %d is on revision %d and %x, not on its own", s.heldID[string(key)], hold.Revision, hold.Prefix)
	}
}

func (s *snapshotChecker) visitConsumer(key []byte, _ kv.Value) {
	_, in, id, _, err := keys.CutSnapshotConsumer(key)
	if err != nil {
		s.problem("WB-14", key, "%v", err)
		return
	}
	of := string(keys.AppendSnapshot(nil, s.root, in, id))
	s.consumed[of] = true
	if snapshot, ok := s.snapshots[of]; !ok || snapshot.State != record.SnapshotActive {
		s.problem("WB-14", key, "it consumes a snapshot that is not active")
	}
}

func (s *snapshotChecker) visitAlias(key []byte, value kv.Value) {
	alias, err := record.DecodeSnapshotAlias(value.Bytes)
	if err != nil {
		s.problem("WB-13", key, "%v", err)
		return
	}
	if newest := s.newest[string(key)]; alias.ID != newest {
		s.problem("WB-13", key, "it names snapshot %d, and the newest of that name is %d", alias.ID, newest)
	}
	delete(s.newest, string(key))
}

func (s *snapshotChecker) finish() {
	for key := range s.newest {
		s.problem("WB-13", []byte(key), "a snapshot was minted with the name, and the name is missing")
	}
	for key := range s.held {
		s.problem("WB-12", []byte(key), "it is no snapshot, and has a hold")
	}
	for key, snapshot := range s.snapshots {
		_, in, id, err := keys.CutSnapshot([]byte(key))
		if err != nil {
			continue
		}
		name := snapshotTimer(in, id)
		if active := snapshot.State == record.SnapshotActive; active && !s.armed[name] && !s.consumed[key] {
			s.problem("WB-14", []byte(key), "it is active, nobody consumes it, and no timer ends it")
		} else if !active && s.armed[name] {
			s.problem("WB-14", []byte(key), "it has ended, and a timer is armed to end it")
		}
		delete(s.armed, name)
	}
	for name := range s.armed {
		s.problem("WB-14", nil, "timer %s ends no snapshot", name)
	}
}
