package keys

// Spaces of snapshots. Part of the store's format.
const (
	SpaceSnapshot         byte = 0x1B
	SpaceSnapshotAlias    byte = 0x1C
	SpaceSnapshotConsumer byte = 0x1D
	SpaceSnapshotSerial   byte = 0x90
)

var snapshotSpaces = []Space{
	{ID: SpaceSnapshot, Name: "snapshot", Versioned: true, Order: "incarnation, snapshot id", Cardinality: "1 per snapshot ever minted",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "has its hold exactly while it is active (WB-12)"},
	{ID: SpaceSnapshotAlias, Name: "snapshot alias", Versioned: true, Order: "incarnation, name", Cardinality: "1 per name of a snapshot",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "names the newest snapshot that was minted with the name (WB-13)"},
	{ID: SpaceSnapshotConsumer, Name: "snapshot consumer", Versioned: true, Order: "incarnation, snapshot id, operation id (16 bytes)", Cardinality: "1 per restore that reads a snapshot",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "its snapshot is active (WB-14)"},
	{ID: SpaceSnapshotSerial, Name: "snapshot serial", Order: "-", Cardinality: "0 or 1",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "no snapshot has a greater id (WB-11)"},
}

// OperationIDLen is the length of an operation id in a key.
const OperationIDLen = 16

// AppendSnapshots appends what the keys of all snapshots of a workbench begin
// with.
func AppendSnapshots(dst []byte, root uint32, in Incarnation) []byte {
	return AppendFixed(AppendPrefix(dst, SpaceSnapshot, root), in[:])
}

// AppendSnapshot appends the key of a snapshot.
func AppendSnapshot(dst []byte, root uint32, in Incarnation, id uint64) []byte {
	return AppendUint64(AppendSnapshots(dst, root, in), id)
}

// CutSnapshot decodes a key written by AppendSnapshot.
func CutSnapshot(key []byte) (root uint32, in Incarnation, id uint64, err error) {
	root, in, rest, err := cutIncarnation(key, SpaceSnapshot)
	if err != nil {
		return 0, Incarnation{}, 0, err
	}
	id, rest, err = CutUint64(rest)
	if err != nil || len(rest) != 0 {
		return 0, Incarnation{}, 0, ErrMalformed
	}
	return root, in, id, nil
}

// AppendSnapshotAlias appends the key of a snapshot's name.
func AppendSnapshotAlias(dst []byte, root uint32, in Incarnation, name string) []byte {
	return AppendText(AppendFixed(AppendPrefix(dst, SpaceSnapshotAlias, root), in[:]), name)
}

// CutSnapshotAlias decodes a key written by AppendSnapshotAlias.
func CutSnapshotAlias(key []byte) (root uint32, in Incarnation, name string, err error) {
	root, in, rest, err := cutIncarnation(key, SpaceSnapshotAlias)
	if err != nil {
		return 0, Incarnation{}, "", err
	}
	text, rest, err := CutText(nil, rest)
	if err != nil || len(rest) != 0 {
		return 0, Incarnation{}, "", ErrMalformed
	}
	return root, in, string(text), nil
}

// AppendSnapshotConsumers appends what the keys of all consumers of a snapshot
// begin with.
func AppendSnapshotConsumers(dst []byte, root uint32, in Incarnation, id uint64) []byte {
	return AppendUint64(AppendFixed(AppendPrefix(dst, SpaceSnapshotConsumer, root), in[:]), id)
}

// AppendSnapshotConsumer appends the key of one consumer of a snapshot.
func AppendSnapshotConsumer(dst []byte, root uint32, in Incarnation, id uint64, operation [OperationIDLen]byte) []byte {
	return AppendFixed(AppendSnapshotConsumers(dst, root, in, id), operation[:])
}

// CutSnapshotConsumer decodes a key written by AppendSnapshotConsumer.
func CutSnapshotConsumer(key []byte) (root uint32, in Incarnation, id uint64, operation [OperationIDLen]byte, err error) {
	fail := func() (uint32, Incarnation, uint64, [OperationIDLen]byte, error) {
		return 0, Incarnation{}, 0, [OperationIDLen]byte{}, ErrMalformed
	}
	root, in, rest, err := cutIncarnation(key, SpaceSnapshotConsumer)
	if err != nil {
		return fail()
	}
	if id, rest, err = CutUint64(rest); err != nil {
		return fail()
	}
	b, rest, err := CutFixed(rest, OperationIDLen)
	if err != nil || len(rest) != 0 {
		return fail()
	}
	return root, in, id, [OperationIDLen]byte(b), nil
}

// AppendSnapshotSerial appends the key of the last snapshot id that a root has
// minted.
func AppendSnapshotSerial(dst []byte, root uint32) []byte {
	return AppendPrefix(dst, SpaceSnapshotSerial, root)
}
