package keys

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestCrawlHoldsAreInTheOrderOfTheirRevisions(t *testing.T) {
	within := AppendPathRecords(nil, 1, inc(0))
	want := [][]byte{
		AppendCrawlHold(nil, 1, 2, nil),
		AppendCrawlHold(nil, 1, 2, within),
		AppendCrawlHold(nil, 1, 10, nil),
		AppendCrawlHold(nil, 1, 1<<63, within),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, bytes.Compare)
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%q", got)
	}
	if root, rev, in, err := CutCrawlHold(want[3]); err != nil || root != 1 || rev != 1<<63 || !bytes.Equal(in, within) {
		t.Error(root, rev, in, err)
	}
}

// KEY-4.
func FuzzCrawlKeys(f *testing.F) {
	f.Add(AppendCrawlHold(nil, 7, 9, nil))
	f.Add(AppendCrawlHold(nil, 7, 9, []byte{SpacePathRecord}))
	f.Add(AppendSnapshotSerial(nil, 7))
	f.Fuzz(func(t *testing.T, key []byte) {
		root, rev, within, err := CutCrawlHold(key)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Error(err)
			}
			return
		}
		if again := AppendCrawlHold(nil, root, rev, within); !bytes.Equal(again, key) {
			t.Errorf("%x decodes, and encodes to %x", key, again)
		}
	})
}
