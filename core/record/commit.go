package record

const commitHeadVersion = 1

const identityLen = 32

// CommitHead is the commit that a workbench stands on.
type CommitHead struct {
	// Generation is 1 for a workbench's first commit and grows by one with each
	// that replaces it.
	Generation uint64
	Identity   [identityLen]byte
}

// AppendCommitHead appends the encoding of h.
func AppendCommitHead(dst []byte, h CommitHead) []byte {
	return append(AppendUint(append(dst, commitHeadVersion), h.Generation), h.Identity[:]...)
}

// DecodeCommitHead reads what AppendCommitHead wrote.
func DecodeCommitHead(value []byte) (CommitHead, error) {
	_, r := NewReader(value, commitHeadVersion)
	h := CommitHead{Generation: r.Uint()}
	copy(h.Identity[:], r.Fixed(identityLen))
	if h.Generation == 0 {
		r.Fail()
	}
	if err := r.Done(); err != nil {
		return CommitHead{}, err
	}
	return h, nil
}
