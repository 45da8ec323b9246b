package workbench

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/timer"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// States of a snapshot as answers show them.
const (
	stateAlive   = "alive"
	stateExpired = "expired"
	stateRetired = "retired"
	stateReaped  = "reaped"
)

// timerSnapshot is the kind of the timers that end snapshots; the payload is the
// snapshot's key. Part of the store's format.
const timerSnapshot = "workbench.snapshot"

// snapshotFor finds a snapshot of a workbench by id or by name, in whatever state
// it is. The record's metadata aliases memory of the View or Tx.
func (t *tenant) snapshotFor(r kv.Reader, in keys.Incarnation, sel op.IntOrString) (id uint64, s record.Snapshot, ok bool, err error) {
	if sel.IsString {
		value, ok, err := r.Get(keys.AppendSnapshotAlias(nil, t.root.ID(), in, sel.Str))
		if err != nil || !ok {
			return 0, record.Snapshot{}, false, err
		}
		alias, err := record.DecodeSnapshotAlias(value.Bytes)
		if err != nil {
			return 0, record.Snapshot{}, false, corrupt(err)
		}
		id = alias.ID
	} else if id = uint64(max(0, sel.Int)); id == 0 {
		return 0, record.Snapshot{}, false, nil
	}
	s, ok, err = t.snapshot(r, in, id)
	if err == nil && !ok && sel.IsString {
		err = corrupt(errors.New("workbench: a name of no snapshot (WB-13)"))
	}
	return id, s, ok, err
}

// snapshot reads a snapshot's record, which aliases as that of snapshotFor.
func (t *tenant) snapshot(r kv.Reader, in keys.Incarnation, id uint64) (record.Snapshot, bool, error) {
	value, ok, err := r.Get(keys.AppendSnapshot(nil, t.root.ID(), in, id))
	if err != nil || !ok {
		return record.Snapshot{}, false, err
	}
	s, err := record.DecodeSnapshot(value.Bytes)
	if err != nil {
		return record.Snapshot{}, false, corrupt(err)
	}
	return s, true, nil
}

func (t *tenant) putSnapshot(tx *kv.Tx, in keys.Incarnation, id uint64, s record.Snapshot) {
	tx.Put(keys.AppendSnapshot(nil, t.root.ID(), in, id), record.AppendSnapshot(nil, s))
}

// due is when a snapshot ends for good, unless somebody consumes it.
func (w *Workbench) due(s *record.Snapshot) time.Time {
	return time.UnixMilli(s.DeadlineMillis).Add(w.o.SnapshotGrace).UTC()
}

// stateOf tells where a snapshot is in its life at an instant. It goes by the
// clock: whether the background has come round to it shows in no answer (WB-15).
func (w *Workbench) stateOf(r kv.Reader, t *tenant, in keys.Incarnation, id uint64, s *record.Snapshot, now time.Time) (string, error) {
	switch {
	case s.State == record.SnapshotRetired:
		return stateRetired, nil
	case s.State == record.SnapshotReaped:
		return stateReaped, nil
	case now.UnixMilli() < s.DeadlineMillis:
		return stateAlive, nil
	case now.Before(w.due(s)):
		return stateExpired, nil
	}
	consumed, err := t.consumed(r, in, id)
	if err != nil || !consumed {
		return stateReaped, err
	}
	return stateExpired, nil
}

// readable refuses a state in which a snapshot shows nothing.
func readable(state string) error {
	switch state {
	case stateAlive:
		return nil
	case stateExpired:
		return fault.New(op.ReasonWBSnapshotExpired, "")
	}
	return fault.New(op.ReasonWBSnapshotEnded, "")
}

// consumed reports whether a snapshot has a consumer.
func (t *tenant) consumed(r kv.Reader, in keys.Incarnation, id uint64) (bool, error) {
	lower := keys.AppendSnapshotConsumers(nil, t.root.ID(), in, id)
	it := r.Scan(lower, keys.AppendEnd(nil, lower), kv.ScanOptions{Limit: 1})
	defer func() { _ = it.Close() }()
	return it.Next(), it.Err()
}

// addConsumer makes a snapshot last until the operation drops it again, however
// its lease ends. The caller has seen in the same update that it is alive.
func (t *tenant) addConsumer(tx *kv.Tx, in keys.Incarnation, id uint64, operation [keys.OperationIDLen]byte) {
	tx.Put(keys.AppendSnapshotConsumer(nil, t.root.ID(), in, id, operation), nil)
}

// dropConsumer ends what addConsumer began, once: a repeat changes nothing. It
// reports whether the operation was a consumer. A snapshot whose time has passed
// meanwhile ends soon after its last consumer.
func (w *Workbench) dropConsumer(tx *kv.Tx, t *tenant, in keys.Incarnation, id uint64, operation [keys.OperationIDLen]byte) (dropped bool, err error) {
	key := keys.AppendSnapshotConsumer(nil, t.root.ID(), in, id, operation)
	if _, ok, err := tx.Get(key); err != nil || !ok {
		return false, err
	}
	tx.Delete(key)
	if consumed, err := t.consumed(tx, in, id); err != nil || consumed {
		return err == nil, err
	}
	s, ok, err := t.snapshot(tx, in, id)
	if err != nil {
		return false, err
	}
	if !ok || s.State != record.SnapshotActive {
		return false, corrupt(errors.New("workbench: a consumer of a snapshot that is not active (WB-14)"))
	}
	return true, w.arm(tx, t, in, id, &s)
}

// arm sets the timer that ends a snapshot.
func (w *Workbench) arm(tx *kv.Tx, t *tenant, in keys.Incarnation, id uint64, s *record.Snapshot) error {
	return w.timers.Set(tx, timerSnapshot, snapshotTimer(in, id), w.due(s), keys.AppendSnapshot(nil, t.root.ID(), in, id))
}

// snapshotTimer names the timer of a snapshot.
func snapshotTimer(in keys.Incarnation, id uint64) string {
	return hex.EncodeToString(in[:]) + "." + strconv.FormatUint(id, 10)
}

// end takes an active snapshot to a state in which it holds nothing.
func (w *Workbench) end(tx *kv.Tx, t *tenant, in keys.Incarnation, id uint64, s *record.Snapshot, state record.SnapshotState) error {
	if err := tx.Release(kv.HoldID(s.Hold)); err != nil {
		return corrupt(fmt.Errorf("workbench: the hold of snapshot %d (WB-12): %w", id, err))
	}
	if _, err := w.timers.Cancel(tx, timerSnapshot, snapshotTimer(in, id)); err != nil {
		return err
	}
	s.State = state
	t.putSnapshot(tx, in, id, *s)
	return nil
}

// snapshotDue is what the timer of a snapshot does: it reaps the snapshot, unless
// somebody consumes it. Whoever drops the last consumer arms the timer anew.
func (w *Workbench) snapshotDue(tx *kv.Tx, f timer.Fired) error {
	_, in, id, err := keys.CutSnapshot(f.Payload)
	if err != nil {
		return corrupt(err)
	}
	t := &tenant{root: tx.Root()}
	s, ok, err := t.snapshot(tx, in, id)
	if err != nil {
		return err
	}
	if !ok || s.State != record.SnapshotActive {
		return nil
	}
	if tx.Now().Before(w.due(&s)) {
		return w.arm(tx, t, in, id, &s) // the grace was made longer since
	}
	if consumed, err := t.consumed(tx, in, id); err != nil || consumed {
		return err
	}
	return w.end(tx, t, in, id, &s, record.SnapshotReaped)
}
