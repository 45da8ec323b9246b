package keys

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestSnapshotKeysRoundTrip(t *testing.T) {
	operation := [16]byte{1, 0, 15: 0xFF}
	for _, id := range []uint64{1, 1<<53 - 1, 1<<64 - 1} {
		if root, in, got, err := CutSnapshot(AppendSnapshot(nil, 7, inc(0), id)); err != nil || root != 7 || in != inc(0) || got != id {
			t.Error(root, in, got, err)
		}
		if root, in, got, o, err := CutSnapshotConsumer(AppendSnapshotConsumer(nil, 7, inc(0xFF), id, operation)); err != nil || root != 7 || in != inc(0xFF) || got != id || o != operation {
			t.Error(root, in, got, o, err)
		}
	}
	for _, name := range []string{"nightly", "日本", "a b/c", "\x01"} {
		if root, in, got, err := CutSnapshotAlias(AppendSnapshotAlias(nil, 7, inc(3), name)); err != nil || root != 7 || in != inc(3) || got != name {
			t.Error(root, in, got, err)
		}
	}
}

// KEY-2: snapshots of a workbench lie by id, which is the order of a list.
func TestSnapshotsAreInTheOrderOfTheirIDs(t *testing.T) {
	want := [][]byte{
		AppendSnapshot(nil, 1, inc(1), 300),
		AppendSnapshot(nil, 1, inc(2), 2),
		AppendSnapshot(nil, 1, inc(2), 10),
		AppendSnapshot(nil, 1, inc(2), 256),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, bytes.Compare)
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%q", got)
	}
}

// KEY-4.
func FuzzSnapshotKeys(f *testing.F) {
	f.Add(AppendSnapshot(nil, 7, inc(1), 9))
	f.Add(AppendSnapshotAlias(nil, 7, inc(1), "nightly"))
	f.Add(AppendSnapshotConsumer(nil, 7, inc(1), 9, [16]byte{1}))
	f.Fuzz(func(t *testing.T, key []byte) {
		same := func(err error, again []byte) {
			if err == nil && !bytes.Equal(again, key) {
				t.Errorf("%x decodes, and encodes to %x", key, again)
			}
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Error(err)
			}
		}
		root, in, id, err := CutSnapshot(key)
		same(err, AppendSnapshot(nil, root, in, id))
		root, in, name, err := CutSnapshotAlias(key)
		same(err, AppendSnapshotAlias(nil, root, in, name))
		root, in, id, operation, err := CutSnapshotConsumer(key)
		same(err, AppendSnapshotConsumer(nil, root, in, id, operation))
	})
}
