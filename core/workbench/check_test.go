package workbench_test

import (
	"slices"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/timer"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// damaged is a store with one file, after fn has written into it by itself; it
// returns which invariants of this package the check finds broken.
func damaged(t *testing.T, fn func(tx *kv.Tx, root uint32, in keys.Incarnation)) []string {
	t.Helper()
	return damagedAfter(t, func(*workbench.Workbench) error { return nil }, fn)
}

// damagedAfter is damaged with more in the store than the file.
func damagedAfter(t *testing.T, prepare func(w *workbench.Workbench) error, fn func(tx *kv.Tx, root uint32, in keys.Incarnation)) []string {
	t.Helper()
	store, err := kv.Open(kv.Options{FS: kvtest.NewCrashFS(), Dir: "data", Clock: clock.NewFake(kvtest.Epoch), IDs: kvtest.IDs(1), NoBackground: true,
		CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	bodies, err := blob.Open(store, blob.Options{NoBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	defer bodies.Close()
	workbench.Govern(bodies)
	w, err := workbench.New(workbench.Options{Store: store, Bodies: bodies, Timers: timer.Open(store, timer.Options{}), Root: jail.DefaultRoot, CursorKey: make([]byte, 32), Principal: loopback})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "a", Text: ptr("x")}); err != nil {
		t.Fatal(err)
	}
	if err := prepare(w); err != nil {
		t.Fatal(err)
	}
	if err := store.Check(ctx).Err(); err != nil {
		t.Fatalf("before anything was damaged: %v", err)
	}
	err = w.Tamper(ctx, func(tx *kv.Tx, root uint32) error {
		value, ok, err := tx.Get(keys.AppendWorkbenchMarker(nil, root, "wb1"))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		marker, err := record.DecodeWorkbench(value.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		fn(tx, root, marker.Incarnation)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var broken []string
	for _, p := range store.Check(ctx).Problems {
		if p.Check == "workbench" {
			broken = append(broken, p.Invariant)
		}
	}
	slices.Sort(broken)
	return slices.Compact(broken)
}

func TestCheckFindsWhatIsBroken(t *testing.T) {
	file := func(tx *kv.Tx, root uint32, in keys.Incarnation) record.File {
		value, ok, err := tx.Get(keys.AppendPathRecord(nil, root, in, "outputs/a"))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		f, err := record.DecodeFile(value.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for name, c := range map[string]struct {
		damage func(tx *kv.Tx, root uint32, in keys.Incarnation)
		want   []string
	}{
		"a marker without a head": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendWorkbenchMarker(nil, root, "wb2"), record.AppendWorkbench(nil, record.Workbench{Incarnation: keys.Incarnation{7}}))
		}, []string{"WB-2"}},
		"two names of one incarnation": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendWorkbenchMarker(nil, root, "wa"), record.AppendWorkbench(nil, record.Workbench{Incarnation: in}))
		}, []string{"WB-2"}},
		"a record of no incarnation": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			f := file(tx, root, in)
			tx.Put(keys.AppendPathRecord(nil, root, keys.Incarnation{9}, "outputs/a"), record.AppendFile(nil, f))
		}, []string{"WB-2", "WB-32"}},
		"a head from the future": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendWorkbenchHead(nil, root, in), record.AppendWorkbenchHead(nil, record.WorkbenchHead{ContentRevision: 1 << 40}))
		}, []string{"WB-4"}},
		"a record newer than the head": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			f := file(tx, root, in)
			tx.Put(keys.AppendPathRecord(nil, root, in, "outputs/a"), record.AppendFile(nil, f))
		}, []string{"WB-4"}},
		"a record without its index row": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Delete(keys.AppendIndexSize(nil, root, 1, "wb1", in, "outputs/a"))
		}, []string{"WB-6"}},
		"an index row with another value": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendIndexType(nil, root, "other/type", "wb1", in, "outputs/a"), nil)
		}, []string{"WB-6"}},
		"an index row without a record": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			tx.Put(keys.AppendIndexGeneration(nil, root, 1, "wb1", in, "outputs/b"), nil)
		}, []string{"WB-6"}},
		"an index row under another name": {func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			f := file(tx, root, in)
			tx.Put(keys.AppendIndexDigest(nil, root, f.Body.SHA256, "wb9", in, "outputs/a"), nil)
		}, []string{"WB-6"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := damaged(t, c.damage); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}
