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

func TestCheckFindsBrokenRestores(t *testing.T) {
	// wb2 was restored from snapshot 1; a restore of snapshot 2 into wb3 is begun.
	prepare := func(w *workbench.Workbench) error {
		if err := w.Stamp(ctx, "wb1"); err != nil {
			return err
		}
		for range 2 {
			if _, err := w.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: "wb1"}); err != nil {
				return err
			}
		}
		if _, err := w.Restore(ctx, &op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "wb2", AtSnapshot: at(int64(1))}); err != nil {
			return err
		}
		return w.BeginRestore(ctx, &op.WorkbenchRestoreRequest{ID: "wb1", DestinationID: "wb3", AtSnapshot: at(int64(2))})
	}
	first := func(tx *kv.Tx, root uint32, space byte) (key, value []byte) {
		lower, upper := keys.SpaceBounds(space, root)
		it := tx.Scan(lower, upper, kv.ScanOptions{Limit: 1})
		defer func() { _ = it.Close() }()
		if !it.Next() {
			t.Fatalf("space %x has no row: %v", space, it.Err())
		}
		return slices.Clone(it.Key()), slices.Clone(it.Value().Bytes)
	}
	operation := func(tx *kv.Tx, root uint32, change func(o *record.RestoreOperation)) {
		key, value := first(tx, root, keys.SpaceRestoreOperation)
		o, err := record.DecodeRestoreOperation(value)
		if err != nil {
			t.Fatal(err)
		}
		change(&o)
		tx.Put(key, record.AppendRestoreOperation(nil, o))
	}
	provenance := func(tx *kv.Tx, root uint32, change func(p *record.RestoreProvenance)) {
		key, value := first(tx, root, keys.SpaceRestoreProvenance)
		p, err := record.DecodeRestoreProvenance(value)
		if err != nil {
			t.Fatal(err)
		}
		change(&p)
		tx.Put(key, record.AppendRestoreProvenance(nil, p))
	}
	for name, c := range map[string]struct {
		damage func(tx *kv.Tx, root uint32, in keys.Incarnation)
		want   []string
	}{
		"an operation of another identity": {func(tx *kv.Tx, root uint32, _ keys.Incarnation) {
			operation(tx, root, func(o *record.RestoreOperation) { o.Identity[31]++ })
		}, []string{"WB-35"}},
		"an operation of another initialization": {func(tx *kv.Tx, root uint32, _ keys.Incarnation) {
			operation(tx, root, func(o *record.RestoreOperation) { o.AtMillis++ })
		}, []string{"WB-35"}},
		"an operation that consumes nothing": {func(tx *kv.Tx, root uint32, _ keys.Incarnation) {
			key, _ := first(tx, root, keys.SpaceSnapshotConsumer)
			tx.Delete(key)
		}, []string{"WB-33"}},
		"a consumer without an operation": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendSnapshotConsumer(nil, root, in, 1, [16]byte{7}), nil)
		}, []string{"WB-33"}},
		"an operation into a workbench that is there": {func(tx *kv.Tx, root uint32, _ keys.Incarnation) {
			operation(tx, root, func(o *record.RestoreOperation) {
				tx.Put(keys.AppendWorkbenchHead(nil, root, o.DestinationIncarnation), record.AppendWorkbenchHead(nil, record.WorkbenchHead{ContentRevision: 1}))
				tx.Put(keys.AppendWorkbenchMarker(nil, root, "wb3"), record.AppendWorkbench(nil, record.Workbench{Incarnation: o.DestinationIncarnation}))
			})
		}, []string{"WB-31"}},
		"files of no workbench": {func(tx *kv.Tx, root uint32, _ keys.Incarnation) {
			_, value := first(tx, root, keys.SpacePathRecord)
			f, err := record.DecodeFile(value)
			if err != nil {
				t.Fatal(err)
			}
			in := keys.Incarnation{9}
			tx.Put(keys.AppendWorkbenchHead(nil, root, in), record.AppendWorkbenchHead(nil, record.WorkbenchHead{ContentRevision: uint64(tx.Revision())}))
			tx.Put(keys.AppendPathRecord(nil, root, in, "outputs/a"), record.AppendFile(nil, f))
		}, []string{"WB-32"}},
		"a provenance of another manifest": {func(tx *kv.Tx, root uint32, _ keys.Incarnation) {
			provenance(tx, root, func(p *record.RestoreProvenance) { p.Manifest[0]++ })
		}, []string{"WB-34", "WB-35"}},
		"a provenance of another commit": {func(tx *kv.Tx, root uint32, _ keys.Incarnation) {
			provenance(tx, root, func(p *record.RestoreProvenance) { p.Commit[0]++ })
		}, []string{"WB-16", "WB-34"}},
		"a provenance that is gone": {func(tx *kv.Tx, root uint32, _ keys.Incarnation) {
			key, _ := first(tx, root, keys.SpaceRestoreProvenance)
			tx.Delete(key)
		}, []string{"WB-16"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := damagedAfter(t, prepare, c.damage); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}
