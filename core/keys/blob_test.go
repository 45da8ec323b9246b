package keys_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// KEY-3 for the spaces of bodies.
func TestBodyKeysRoundTrip(t *testing.T) {
	list := keys.ListID{Revision: 1 << 40, Number: 7}
	for _, end := range []uint64{0, 1, 255, 256, math.MaxInt64} {
		root, gotList, gotEnd, err := keys.CutBodyExtent(keys.AppendBodyExtent(nil, 9, list, end))
		if root != 9 || gotList != list || gotEnd != end || err != nil {
			t.Errorf("extent: %d %v %d, %v", root, gotList, gotEnd, err)
		}
		ref := keys.BodyRef{List: list, End: end, Holder: keys.Holder{1, 15: 2}, Revision: 3}
		root, gotRef, err := keys.CutBodyRef(keys.AppendBodyRef(nil, 9, ref))
		if root != 9 || gotRef != ref || err != nil {
			t.Errorf("reference: %d %+v, %v", root, gotRef, err)
		}
	}
	if root, got, err := keys.CutBodyList(keys.AppendBodyList(nil, 9, list)); root != 9 || got != list || err != nil {
		t.Errorf("list: %d %v, %v", root, got, err)
	}
	if root, got, err := keys.CutLooseList(keys.AppendLooseList(nil, 9, list)); root != 9 || got != list || err != nil {
		t.Errorf("loose list: %d %v, %v", root, got, err)
	}
	id := keys.SegmentID{1, 15: 2}
	for what, round := range map[string]func() (uint32, keys.SegmentID, error){
		"segment":    func() (uint32, keys.SegmentID, error) { return keys.CutSegment(keys.AppendSegment(nil, 9, id)) },
		"staging":    func() (uint32, keys.SegmentID, error) { return keys.CutStaging(keys.AppendStaging(nil, 9, id)) },
		"loose file": func() (uint32, keys.SegmentID, error) { return keys.CutLooseFile(keys.AppendLooseFile(nil, 9, id)) },
	} {
		if root, got, err := round(); root != 9 || got != id || err != nil {
			t.Errorf("%s: %d %x, %v", what, root, got, err)
		}
	}
	if _, _, err := keys.CutStaging(keys.AppendSegment(nil, 9, id)); !errors.Is(err, keys.ErrMalformed) {
		t.Errorf("a segment passes for staging: %v", err)
	}
}

// KEY-2: the extent that holds a byte is the first at or after the next one, and
// the first reference of a list reaches farthest.
func TestBodyKeysSort(t *testing.T) {
	list, next := keys.ListID{Revision: 5, Number: 1}, keys.ListID{Revision: 5, Number: 2}
	ref := func(end, rev uint64) []byte {
		return keys.AppendBodyRef(nil, 1, keys.BodyRef{List: list, End: end, Revision: rev})
	}
	for what, ordered := range map[string][][]byte{
		"extents": {
			keys.AppendBodyExtents(nil, 1, list), keys.AppendBodyExtent(nil, 1, list, 1), keys.AppendBodyExtent(nil, 1, list, 255),
			keys.AppendBodyExtent(nil, 1, list, 256), keys.AppendBodyExtent(nil, 1, list, math.MaxInt64),
			keys.AppendEnd(nil, keys.AppendBodyExtents(nil, 1, list)), keys.AppendBodyExtent(nil, 1, next, 1),
		},
		"references": {
			keys.AppendBodyRefs(nil, 1, list), ref(math.MaxInt64, 1), ref(256, 1), ref(256, 2), ref(255, 9), ref(0, 0),
			keys.AppendEnd(nil, keys.AppendBodyRefs(nil, 1, list)),
		},
	} {
		for i := 1; i < len(ordered); i++ {
			if bytes.Compare(ordered[i-1], ordered[i]) > 0 {
				t.Errorf("%s: %x sorts after %x", what, ordered[i-1], ordered[i])
			}
		}
	}
}

// KEY-4: decoders take any bytes, and what they accept is what their encoder
// writes.
func FuzzBodyDecoders(f *testing.F) {
	list := keys.ListID{Revision: 1, Number: 2}
	f.Add(keys.AppendBodyExtent(nil, 1, list, 5))
	f.Add(keys.AppendBodyRef(nil, 1, keys.BodyRef{List: list, End: 5, Revision: 3}))
	f.Add(keys.AppendBodyList(nil, 1, list))
	f.Add(keys.AppendLooseList(nil, 1, list))
	f.Add(keys.AppendSegment(nil, 1, keys.SegmentID{1}))
	f.Add(keys.AppendStaging(nil, 1, keys.SegmentID{1}))
	f.Add(keys.AppendLooseFile(nil, 1, keys.SegmentID{1}))
	f.Fuzz(func(t *testing.T, key []byte) {
		same := func(again []byte, err error) {
			if err == nil && !bytes.Equal(again, key) {
				t.Errorf("%x decodes, and encodes to %x", key, again)
			}
		}
		root, l, end, err := keys.CutBodyExtent(key)
		same(keys.AppendBodyExtent(nil, root, l, end), err)
		root, ref, err := keys.CutBodyRef(key)
		same(keys.AppendBodyRef(nil, root, ref), err)
		root, l, err = keys.CutBodyList(key)
		same(keys.AppendBodyList(nil, root, l), err)
		root, l, err = keys.CutLooseList(key)
		same(keys.AppendLooseList(nil, root, l), err)
		root, id, err := keys.CutSegment(key)
		same(keys.AppendSegment(nil, root, id), err)
		root, id, err = keys.CutStaging(key)
		same(keys.AppendStaging(nil, root, id), err)
		root, id, err = keys.CutLooseFile(key)
		same(keys.AppendLooseFile(nil, root, id), err)
	})
}
