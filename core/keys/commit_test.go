package keys

import (
	"bytes"
	"testing"
)

func TestCommitKeysRoundTrip(t *testing.T) {
	key := AppendCommitHead(nil, 2, inc(1))
	if root, in, err := CutCommitHead(key); err != nil || root != 2 || in != inc(1) {
		t.Error(root, in, err)
	}
	if _, _, err := CutCommitHead(append(key, 0)); err == nil {
		t.Error("bytes left over were not seen")
	}
}

func TestCommitIdentityKeysRoundTrip(t *testing.T) {
	id := CommitIdentity{1, 0, 31: 255}
	key := AppendCommit(nil, 2, inc(1), id)
	if root, in, got, err := CutCommit(key); err != nil || root != 2 || in != inc(1) || got != id {
		t.Error(root, in, got, err)
	}
	operation := AppendCommitOperation(nil, 2, inc(1), id)
	if root, in, got, err := CutCommitOperation(operation); err != nil || root != 2 || in != inc(1) || got != id {
		t.Error(root, in, got, err)
	}
	for _, bad := range [][]byte{append(key[:len(key):len(key)], 0), key[:len(key)-1], operation, nil} {
		if _, _, _, err := CutCommit(bad); err == nil {
			t.Errorf("%x is taken for the key of a commit", bad)
		}
	}
	if _, _, _, err := CutCommitOperation(key); err == nil {
		t.Error("a commit is taken for an operation")
	}
}

func TestComparePathsIsTheOrderOfKeys(t *testing.T) {
	paths := []string{"a", "a/b", "a/b/c", "a-b", "a.b/c", "ab", "b", "src", "src/x", "src-gen/x", "ü"}
	for _, p := range paths {
		for _, q := range paths {
			want := bytes.Compare(AppendPathRecord(nil, 1, inc(1), p), AppendPathRecord(nil, 1, inc(1), q))
			if got := ComparePaths(p, q); got < 0 != (want < 0) || got > 0 != (want > 0) {
				t.Errorf("%q against %q: %d, and their keys %d", p, q, got, want)
			}
		}
	}
}
