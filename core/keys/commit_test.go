package keys

import "testing"

func TestCommitKeysRoundTrip(t *testing.T) {
	key := AppendCommitHead(nil, 2, inc(1))
	if root, in, err := CutCommitHead(key); err != nil || root != 2 || in != inc(1) {
		t.Error(root, in, err)
	}
	if _, _, err := CutCommitHead(append(key, 0)); err == nil {
		t.Error("bytes left over were not seen")
	}
}
