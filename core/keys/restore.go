package keys

// Spaces of restores. Part of the store's format.
const (
	SpaceRestoreOperation  byte = 0x1E
	SpaceRestoreProvenance byte = 0x1F
)

var restoreSpaces = []Space{
	{ID: SpaceRestoreOperation, Name: "restore operation", Versioned: true, Order: "operation id (16 bytes)", Cardinality: "1 per restore that is under way",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "its destination has no marker; what it reads is kept by a consumer or a commit (WB-31, WB-33)"},
	{ID: SpaceRestoreProvenance, Name: "restore provenance", Versioned: true, Order: "destination incarnation", Cardinality: "1 per restored workbench, for ever",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "a marker names its incarnation, whose restore manifest it binds (WB-34)"},
}

// AppendRestoreOperation appends the key of a restore that is under way.
func AppendRestoreOperation(dst []byte, root uint32, operation [OperationIDLen]byte) []byte {
	return AppendFixed(AppendPrefix(dst, SpaceRestoreOperation, root), operation[:])
}

// CutRestoreOperation decodes a key written by AppendRestoreOperation.
func CutRestoreOperation(key []byte) (root uint32, operation [OperationIDLen]byte, err error) {
	return cutRestored(key, SpaceRestoreOperation)
}

// AppendRestoreProvenance appends the key of what says where a workbench was
// restored from.
func AppendRestoreProvenance(dst []byte, root uint32, in Incarnation) []byte {
	return AppendFixed(AppendPrefix(dst, SpaceRestoreProvenance, root), in[:])
}

// CutRestoreProvenance decodes a key written by AppendRestoreProvenance.
func CutRestoreProvenance(key []byte) (root uint32, in Incarnation, err error) {
	return cutRestored(key, SpaceRestoreProvenance)
}

func cutRestored(key []byte, space byte) (root uint32, id [16]byte, err error) {
	s, root, rest, err := CutPrefix(key)
	if err != nil || s != space || len(rest) != len(id) {
		return 0, [16]byte{}, ErrMalformed
	}
	return root, [16]byte(rest), nil
}
