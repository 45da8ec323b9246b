package keys

// Spaces of commits. Part of the store's format.
const SpaceCommitHead byte = 0x18

var commitSpaces = []Space{
	{ID: SpaceCommitHead, Name: "commit head", Versioned: true, Order: "incarnation", Cardinality: "1 per committed workbench",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "its incarnation has a head (WB-2)"},
}

// AppendCommitHead appends the key of a workbench's commit head.
func AppendCommitHead(dst []byte, root uint32, in Incarnation) []byte {
	return AppendFixed(AppendPrefix(dst, SpaceCommitHead, root), in[:])
}

// CutCommitHead decodes a key written by AppendCommitHead.
func CutCommitHead(key []byte) (root uint32, in Incarnation, err error) {
	root, in, rest, err := cutIncarnation(key, SpaceCommitHead)
	if err != nil || len(rest) != 0 {
		return 0, Incarnation{}, ErrMalformed
	}
	return root, in, nil
}
