package keys

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func inc(b byte) (in Incarnation) {
	for i := range in {
		in[i] = b
	}
	return in
}

func TestWorkbenchKeysRoundTrip(t *testing.T) {
	for _, id := range []string{"a", "wb-main", strings.Repeat("Z", 128)} {
		if root, got, err := CutWorkbenchMarker(AppendWorkbenchMarker(nil, 7, id)); err != nil || root != 7 || got != id {
			t.Error(root, got, err)
		}
		for _, path := range []string{"outputs/a", "a", "日本/語", "a/b/c/d"} {
			in := inc(0x00)
			if root, i, got, err := CutPathRecord(AppendPathRecord(nil, 9, in, path)); err != nil || root != 9 || i != in || got != path {
				t.Error(root, i, got, err)
			}
			for name, key := range map[string][]byte{
				"digest":     AppendIndexDigest(nil, 3, [32]byte{1, 0, 2}, id, inc(0xFF), path),
				"type":       AppendIndexType(nil, 3, "text/\x00plain", id, inc(0xFF), path),
				"long type":  AppendIndexType(nil, 3, strings.Repeat("\x00x", 300), id, inc(0xFF), path),
				"generation": AppendIndexGeneration(nil, 3, 1<<53, id, inc(0xFF), path),
				"size":       AppendIndexSize(nil, 3, 0, id, inc(0xFF), path),
				"custom":     AppendIndexCustom(nil, 3, "a.b", []byte("\x07\x00\xff"), id, inc(0xFF), path),
				"long value": AppendIndexCustom(nil, 3, "f", bytes.Repeat([]byte("\x00y"), 300), id, inc(0xFF), path),
			} {
				if root, gotID, i, got, err := CutIndexed(key); err != nil || root != 3 || gotID != id || i != inc(0xFF) || got != path {
					t.Error(name, root, gotID, i, got, err)
				}
			}
		}
	}
	if root, in, err := CutWorkbenchHead(AppendWorkbenchHead(nil, 2, inc(1))); err != nil || root != 2 || in != inc(1) {
		t.Error(root, in, err)
	}
}

// KEY-2 for the indexes: rows of one value lie in the order of ties, which is
// workbench id, then path by component.
func TestIndexRowsOfOneValueAreInTieOrder(t *testing.T) {
	in := inc(5)
	want := [][]byte{
		AppendIndexSize(nil, 1, 10, "z", in, "z"),
		AppendIndexSize(nil, 1, 11, "a", in, "b"),
		AppendIndexSize(nil, 1, 11, "wb", in, "a"),
		AppendIndexSize(nil, 1, 11, "wb", in, "a/x"),
		AppendIndexSize(nil, 1, 11, "wb", in, "a-b/x"),
		AppendIndexSize(nil, 1, 11, "wb-1", in, "a"),
		AppendIndexSize(nil, 1, 300, "a", in, "a"),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, bytes.Compare)
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%q", got)
	}
}

func TestChildrenOfADirectory(t *testing.T) {
	dir := AppendPathInside(AppendPathRecords(nil, 1, inc(1)), "outputs")
	for path, want := range map[string]struct {
		name string
		file bool
	}{
		"outputs/a":     {"a", true},
		"outputs/a/b":   {"a", false},
		"outputs/a/b/c": {"a", false},
		"outputs/a-b":   {"a-b", true},
	} {
		rest, ok := bytes.CutPrefix(AppendPathRecord(nil, 1, inc(1), path), dir)
		if !ok {
			t.Fatalf("%s is not below its directory", path)
		}
		name, file, err := CutChild(rest)
		if err != nil || string(name) != want.name || file != want.file {
			t.Errorf("%s: %s %v %v", path, name, file, err)
		}
	}
	if _, ok := bytes.CutPrefix(AppendPathRecord(nil, 1, inc(1), "outputs-old/a"), dir); ok {
		t.Error("a sibling is below the directory")
	}
	// What stands past "a" stands past everything below it, and before "a\x01".
	past := AppendPathPast(AppendPathRecords(nil, 1, inc(1)), "outputs/a")
	for path, before := range map[string]bool{"outputs/a": true, "outputs/a/\x7f/z": true, "outputs/a\x01": false, "outputs/a-b": false, "outputs/b": false} {
		if got := bytes.Compare(AppendPathRecord(nil, 1, inc(1), path), past) < 0; got != before {
			t.Errorf("%q before the mark: %v", path, got)
		}
	}
}

func FuzzWorkbenchDecoders(f *testing.F) {
	f.Add(AppendPathRecord(nil, 1, inc(1), "a/b"))
	f.Add(AppendIndexDigest(nil, 1, [32]byte{}, "wb", inc(2), "a"))
	f.Add(AppendIndexType(nil, 1, "t", "wb", inc(2), "a"))
	f.Add(AppendIndexCustom(nil, 1, "f", []byte("\x01\x01"), "wb", inc(2), "a"))
	f.Add(AppendWorkbenchMarker(nil, 1, "wb"))
	f.Add(AppendWorkbenchHead(nil, 1, inc(0)))
	f.Fuzz(func(t *testing.T, key []byte) {
		if root, id, err := CutWorkbenchMarker(key); err == nil && !bytes.Equal(AppendWorkbenchMarker(nil, root, id), key) {
			t.Error("marker")
		}
		if root, in, err := CutWorkbenchHead(key); err == nil && !bytes.Equal(AppendWorkbenchHead(nil, root, in), key) {
			t.Error("head")
		}
		if root, in, path, err := CutPathRecord(key); err == nil && ValidPath(path) && !bytes.Equal(AppendPathRecord(nil, root, in, path), key) {
			t.Errorf("path record %q", path)
		}
		if _, id, in, path, err := CutIndexed(key); err == nil && ValidPath(path) {
			tail := appendIndexed(nil, id, in, path)
			if !bytes.HasSuffix(key, tail) {
				t.Errorf("index row of %q %q", id, path)
			}
		}
		if field, value, err := CutIndexCustomField(key); err == nil {
			if begin := AppendText(AppendIndexCustomField(nil, rootOf(key), field), value); !bytes.HasPrefix(key, begin) {
				t.Errorf("custom field %q, value %q", field, value)
			}
		}
		if name, _, err := CutChild(key); err == nil && (len(name) == 0 || bytes.IndexByte(name, 0) >= 0) {
			t.Errorf("child %q", name)
		}
	})
}
