package keys

import (
	"bytes"
	"testing"
)

// What the decoders of commit keys accept is the key that their parts make.
func FuzzCommitKeys(f *testing.F) {
	f.Add(AppendCommitHead(nil, 2, inc(1)))
	f.Add(AppendCommit(nil, 2, inc(1), CommitIdentity{1, 31: 255}))
	f.Add(AppendCommitOperation(nil, 2, inc(1), CommitIdentity{}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, key []byte) {
		if root, in, err := CutCommitHead(key); err == nil && !bytes.Equal(AppendCommitHead(nil, root, in), key) {
			t.Errorf("%x is taken for a head", key)
		}
		if root, in, id, err := CutCommit(key); err == nil && !bytes.Equal(AppendCommit(nil, root, in, id), key) {
			t.Errorf("%x is taken for a commit", key)
		}
		if root, in, id, err := CutCommitOperation(key); err == nil && !bytes.Equal(AppendCommitOperation(nil, root, in, id), key) {
			t.Errorf("%x is taken for an operation", key)
		}
	})
}
