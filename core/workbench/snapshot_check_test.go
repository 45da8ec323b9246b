package workbench_test

import (
	"slices"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func TestCheckFindsBrokenSnapshots(t *testing.T) {
	// 1 and 2 are alive and called s, 3 is retired, 4 has a consumer.
	prepare := func(w *workbench.Workbench) error {
		if err := w.Stamp(ctx, "wb1"); err != nil {
			return err
		}
		for _, name := range []*string{ptr("s"), ptr("s"), nil, nil} {
			if _, err := w.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: "wb1", Name: name}); err != nil {
				return err
			}
		}
		if _, err := w.SnapshotRetire(ctx, &op.WorkbenchSnapshotRetireRequest{ID: "wb1", SnapshotID: ptr(int64(3))}); err != nil {
			return err
		}
		return w.BeginRestore(ctx, &op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "wb2", AtSnapshot: at(int64(4))})
	}
	change := func(tx *kv.Tx, root uint32, in keys.Incarnation, id uint64, fn func(s *record.Snapshot)) {
		key := keys.AppendSnapshot(nil, root, in, id)
		value, ok, err := tx.Get(key)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		s, err := record.DecodeSnapshot(value.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		fn(&s)
		tx.Put(key, record.AppendSnapshot(nil, s))
	}
	for name, c := range map[string]struct {
		damage func(tx *kv.Tx, root uint32, in keys.Incarnation)
		want   []string
	}{
		"a serial that fell back": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendSnapshotSerial(nil, root), record.AppendSnapshotSerial(nil, record.SnapshotSerial{Last: 3}))
		}, []string{"WB-11"}},
		"an active snapshot without its hold": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			if err := tx.Release(2); err != nil { // the commit has the first
				t.Error(err)
			}
		}, []string{"WB-12"}},
		"a reaped snapshot that holds on": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			change(tx, root, in, 1, func(s *record.Snapshot) { s.State = record.SnapshotReaped })
		}, []string{"WB-12", "WB-14"}},
		"a hold on another revision": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			change(tx, root, in, 1, func(s *record.Snapshot) { s.Revision-- })
		}, []string{"WB-12"}},
		"a hold on another workbench": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			if err := tx.Release(2); err != nil { // the commit has the first
				t.Error(err)
			}
			hold, err := tx.HoldWithin(keys.AppendPathRecords(nil, root, keys.Incarnation{9}), 1, keys.AppendSnapshot(nil, root, in, 1))
			if err != nil {
				t.Error(err)
			}
			change(tx, root, in, 1, func(s *record.Snapshot) { s.Hold, s.Revision = uint64(hold), uint64(tx.Revision()) })
		}, []string{"WB-12"}},
		"two holds for one": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			if _, err := tx.HoldWithin(keys.AppendPathRecords(nil, root, in), 1, keys.AppendSnapshot(nil, root, in, 1)); err != nil {
				t.Error(err)
			}
		}, []string{"WB-12"}},
		"a hold for none": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			if _, err := tx.HoldWithin(keys.AppendPathRecords(nil, root, in), 1, []byte("nobody")); err != nil {
				t.Error(err)
			}
		}, []string{"WB-12"}},
		"a name of an older mint": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendSnapshotAlias(nil, root, in, "s"), record.AppendSnapshotAlias(nil, record.SnapshotAlias{ID: 1}))
		}, []string{"WB-13"}},
		"a name of nothing": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendSnapshotAlias(nil, root, in, "t"), record.AppendSnapshotAlias(nil, record.SnapshotAlias{ID: 2}))
		}, []string{"WB-13"}},
		"a name that is gone": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Delete(keys.AppendSnapshotAlias(nil, root, in, "s"))
		}, []string{"WB-13"}},
		"a consumer of what has ended": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendSnapshotConsumer(nil, root, in, 3, [16]byte{1}), nil)
		}, []string{"WB-14", "WB-33"}},
		"an active snapshot that nothing ends": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			disarm(t, tx, root, workbench.SnapshotTimer(in, 1))
		}, []string{"WB-14"}},
		"a consumed snapshot that nothing ends is sound": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			disarm(t, tx, root, workbench.SnapshotTimer(in, 4))
		}, nil},
		"a snapshot of no incarnation": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendSnapshot(nil, root, keys.Incarnation{9}, 3), record.AppendSnapshot(nil, record.Snapshot{State: record.SnapshotReaped}))
		}, []string{"WB-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := damagedAfter(t, prepare, c.damage); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

// disarm takes a timer away, as a whole.
func disarm(t *testing.T, tx *kv.Tx, root uint32, id string) {
	key := keys.AppendTimer(nil, root, "workbench.snapshot", id)
	value, ok, err := tx.Get(key)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	row, err := record.DecodeTimer(value.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	tx.Delete(key)
	tx.Delete(keys.AppendTimerDue(nil, root, row.DueMillis, "workbench.snapshot", id))
}
