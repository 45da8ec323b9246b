package keys_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// The table of encodings is part of the store's format: testdata/encodings is
// read before it is committed, and an existing line never changes.
func TestEncodings(t *testing.T) {
	datadriven.RunTest(t, "testdata/encodings", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			fmt.Fprintf(&out, "%x\n", encodeLine(t, d.Cmd, line))
		}
		return out.String()
	})
}

func encodeLine(t *testing.T, cmd, line string) []byte {
	switch cmd {
	case "path":
		return keys.AppendPath(nil, line)
	case "path-inside":
		return keys.AppendPathInside(nil, line)
	case "path-past":
		return keys.AppendPathPast(nil, line)
	case "text":
		return keys.AppendText(nil, strings.ReplaceAll(line, `\0`, "\x00"))
	case "int64":
		var n int64
		if _, err := fmt.Sscan(line, &n); err != nil {
			t.Fatal(err)
		}
		return keys.AppendInt64(nil, n)
	case "kv":
		switch line {
		case "meta format":
			return keys.AppendMeta(nil, "format")
		case "clock":
			return keys.AppendClock(nil)
		case "root workbench/t/a":
			return keys.AppendRoot(nil, "workbench", "t", "a")
		case "root head 7":
			return keys.AppendRootHead(nil, 7)
		case "floor 7":
			return keys.AppendFloor(nil, 7)
		case "hold 7/9":
			return keys.AppendHold(nil, 7, 9)
		case "hold serial 7":
			return keys.AppendHoldSerial(nil, 7)
		case "reap 7/300/1":
			return keys.AppendReap(nil, 7, keys.Victim{Revision: 300, Number: 1})
		case "hold reap 7/9/300/1":
			return keys.AppendHoldReap(nil, 7, 9, keys.Victim{Revision: 300, Number: 1})
		}
	}
	t.Fatalf("%s %q", cmd, line)
	return nil
}

func TestEveryPathKeyDecodes(t *testing.T) {
	for _, path := range []string{"", "a", "a/b", "a-b/x", "ä/ö", "a/\x01", "\xff/\xff\xff"} {
		key := append(keys.AppendPath(nil, path), 'r')
		got, rest, err := keys.CutPath(key)
		if err != nil || got != path || string(rest) != "r" {
			t.Errorf("CutPath(%x) = %q, %q, %v", key, got, rest, err)
		}
	}
	for _, path := range []string{"/", "/a", "a/", "a//b", "a\x00b"} {
		if keys.ValidPath(path) {
			t.Errorf("%q is said to be valid", path)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was encoded", path)
				}
			}()
			keys.AppendPath(nil, path)
		}()
	}
}

func TestPathsSortByComponent(t *testing.T) {
	paths := []string{"", "a", "a/x", "a/x/y", "a/x-y", "a/x.z", "a b/x", "a!", "a-b/x", "a.b", "ab", "ab/c", "b"}
	var encoded [][]byte
	for _, p := range paths {
		encoded = append(encoded, keys.AppendPath(nil, p))
	}
	if !slices.IsSortedFunc(encoded, bytes.Compare) {
		t.Fatalf("KEY-2: %q do not sort as listed: %x", paths, encoded)
	}
}

func TestADirectoryIsOneRange(t *testing.T) {
	lower, upper := keys.AppendPathInside(nil, "a"), keys.AppendPathPast(nil, "a")
	for path, inside := range map[string]bool{
		"a": true, "a/x": true, "a/x/y": true, "a/\xff": true, "a-b/x": false, "a\x01": false, "b": false, "": false,
	} {
		key := keys.AppendPath(nil, path)
		if got := bytes.Compare(key, lower) >= 0 && bytes.Compare(key, upper) < 0; got != inside {
			t.Errorf("%q in the range of a: %v", path, got)
		}
	}
}

func TestTheTableIsComplete(t *testing.T) {
	names := map[string]bool{}
	for _, s := range keys.Table {
		if s.Name == "" || s.Order == "" || s.Cardinality == "" || s.Writer == "" || s.Reader == "" || s.Invariant == "" {
			t.Errorf("space %#x has an empty column: %+v", s.ID, s)
		}
		if names[s.Name] {
			t.Errorf("two spaces are called %q", s.Name)
		}
		names[s.Name] = true
		if keys.Lookup(s.ID) == nil || keys.Lookup(s.ID).Name != s.Name {
			t.Errorf("Lookup(%#x) does not find %q", s.ID, s.Name)
		}
	}
	if keys.Lookup(0) != nil || keys.Lookup(0xFF) != nil {
		t.Error("an id that no space has was found")
	}
}

func TestAppendEnd(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{
		{"a", "b"}, {"a\xff", "b"}, {"a\xff\xff", "b"}, {"a\x00", "a\x01"}, {"\xff", ""}, {"", ""},
	} {
		if got := keys.AppendEnd([]byte("x"), []byte(c.prefix)); string(got) != "x"+c.want {
			t.Errorf("AppendEnd(%q) = %q", c.prefix, got[1:])
		}
	}
}

// FuzzOrder holds KEY-2 and KEY-3 for every part: the order of bytes is the order
// of values, and what was encoded decodes.
func FuzzOrder(f *testing.F) {
	f.Add("a/x", "a-b/x", int64(-1), int64(1))
	f.Add("a\x00", "a", int64(0), int64(-1<<63))
	f.Fuzz(func(t *testing.T, a, b string, m, n int64) {
		ta, tb := keys.AppendText(nil, a), keys.AppendText(nil, b)
		if cmp.Compare(a, b) != bytes.Compare(ta, tb) {
			t.Errorf("KEY-2: texts %q and %q", a, b)
		}
		if got, rest, err := keys.CutText(nil, append(ta, 'r')); err != nil || string(got) != a || string(rest) != "r" {
			t.Errorf("KEY-3: text %q gives %q, %q, %v", a, got, rest, err)
		}
		if cmp.Compare(m, n) != bytes.Compare(keys.AppendInt64(nil, m), keys.AppendInt64(nil, n)) {
			t.Errorf("KEY-2: %d and %d", m, n)
		}
		if !keys.ValidPath(a) || !keys.ValidPath(b) {
			return
		}
		pa, pb := keys.AppendPath(nil, a), keys.AppendPath(nil, b)
		if slices.Compare(components(a), components(b)) != bytes.Compare(pa, pb) {
			t.Errorf("KEY-2: paths %q and %q", a, b)
		}
		if got, rest, err := keys.CutPath(append(pa, 'r')); err != nil || got != a || string(rest) != "r" {
			t.Errorf("KEY-3: path %q gives %q, %q, %v", a, got, rest, err)
		}
	})
}

func components(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// FuzzDecode holds KEY-4 for the decoders of this package's own parts and spaces:
// they never panic, and what they accept is what the encoder writes.
func FuzzDecode(f *testing.F) {
	f.Add(keys.AppendRoot(nil, "a", "b", "c"))
	f.Add(keys.AppendHold(nil, 1, 2))
	f.Add(keys.AppendReap(nil, 1, keys.Victim{Revision: 2, Number: 3}))
	f.Add(keys.AppendHoldReap(nil, 1, 2, keys.Victim{Revision: 3, Number: 4}))
	f.Add(keys.AppendPath(nil, "a/b"))
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, key []byte) {
		same := func(what string, again []byte, err error) {
			if err == nil && !bytes.Equal(again, key) {
				t.Errorf("KEY-3: %x decodes as a %s, which encodes to %x", key, what, again)
			}
		}
		area, tenant, name, err := keys.CutRoot(key)
		same("root", keys.AppendRoot(nil, area, tenant, name), err)
		root, hold, err := keys.CutHold(key)
		same("hold", keys.AppendHold(nil, root, hold), err)
		root, v, err := keys.CutReap(key)
		same("reaper row", keys.AppendReap(nil, root, v), err)
		root, hold, v, err = keys.CutHoldReap(key)
		same("hold's reaper row", keys.AppendHoldReap(nil, root, hold, v), err)
		if path, rest, err := keys.CutPath(key); err == nil {
			same("path", append(keys.AppendPath(nil, path), rest...), nil)
			if skipped, err := keys.SkipPath(key); err != nil || !bytes.Equal(skipped, rest) {
				t.Errorf("SkipPath(%x) = %x, %v", key, skipped, err)
			}
		}
		if text, rest, err := keys.CutText(nil, key); err == nil {
			same("text", append(keys.AppendText(nil, text), rest...), nil)
		}
		_, _, _ = keys.Of(key)
	})
}
