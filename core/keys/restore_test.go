package keys

import (
	"bytes"
	"errors"
	"testing"
)

func TestRestoreKeysRoundTrip(t *testing.T) {
	for _, id := range [][16]byte{{}, {1, 0, 15: 0xFF}, inc(0xFF)} {
		if root, got, err := CutRestoreOperation(AppendRestoreOperation(nil, 7, id)); err != nil || root != 7 || got != id {
			t.Error(root, got, err)
		}
		if root, got, err := CutRestoreProvenance(AppendRestoreProvenance(nil, 7, id)); err != nil || root != 7 || got != id {
			t.Error(root, got, err)
		}
	}
}

// KEY-4.
func FuzzRestoreKeys(f *testing.F) {
	f.Add(AppendRestoreOperation(nil, 7, inc(1)))
	f.Add(AppendRestoreProvenance(nil, 7, inc(1)))
	f.Add(append(AppendRestoreProvenance(nil, 7, inc(1)), 0))
	f.Fuzz(func(t *testing.T, key []byte) {
		same := func(err error, again []byte) {
			if err == nil && !bytes.Equal(again, key) {
				t.Errorf("%x decodes, and encodes to %x", key, again)
			}
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Error(err)
			}
		}
		root, id, err := CutRestoreOperation(key)
		same(err, AppendRestoreOperation(nil, root, id))
		root, id, err = CutRestoreProvenance(key)
		same(err, AppendRestoreProvenance(nil, root, id))
	})
}
