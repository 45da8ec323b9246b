package keys

// Spaces of commits. Part of the store's format.
const (
	SpaceCommitHead      byte = 0x18
	SpaceCommit          byte = 0x19
	SpaceCommitOperation byte = 0x1A
)

// CommitIdentityLen is the length of a commit's identity in a key.
const CommitIdentityLen = 32

// CommitIdentity names a commit: the hash of what its caller said.
type CommitIdentity = [CommitIdentityLen]byte

var commitSpaces = []Space{
	{ID: SpaceCommitHead, Name: "commit head", Versioned: true, Order: "incarnation", Cardinality: "1 per committed workbench",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "names a commit of the incarnation (WB-17)"},
	{ID: SpaceCommit, Name: "commit", Versioned: true, Order: "incarnation, identity", Cardinality: "1 per published commit, for ever",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "written once; its hold keeps the files that it froze (WB-16, WB-18)"},
	{ID: SpaceCommitOperation, Name: "commit operation", Versioned: true, Order: "incarnation, identity", Cardinality: "1 per commit that is prepared and not published",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "no commit has its identity yet; its hold exists (WB-19)"},
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

// AppendCommit appends the key of a published commit.
func AppendCommit(dst []byte, root uint32, in Incarnation, id CommitIdentity) []byte {
	return appendCommit(dst, SpaceCommit, root, in, id)
}

// CutCommit decodes a key written by AppendCommit.
func CutCommit(key []byte) (root uint32, in Incarnation, id CommitIdentity, err error) {
	return cutCommit(key, SpaceCommit)
}

// AppendCommitOperation appends the key of a commit that is under way.
func AppendCommitOperation(dst []byte, root uint32, in Incarnation, id CommitIdentity) []byte {
	return appendCommit(dst, SpaceCommitOperation, root, in, id)
}

// CutCommitOperation decodes a key written by AppendCommitOperation.
func CutCommitOperation(key []byte) (root uint32, in Incarnation, id CommitIdentity, err error) {
	return cutCommit(key, SpaceCommitOperation)
}

func appendCommit(dst []byte, space byte, root uint32, in Incarnation, id CommitIdentity) []byte {
	return AppendFixed(AppendFixed(AppendPrefix(dst, space, root), in[:]), id[:])
}

func cutCommit(key []byte, space byte) (root uint32, in Incarnation, id CommitIdentity, err error) {
	root, in, rest, err := cutIncarnation(key, space)
	if err != nil || len(rest) != CommitIdentityLen {
		return 0, Incarnation{}, CommitIdentity{}, ErrMalformed
	}
	return root, in, CommitIdentity(rest), nil
}
