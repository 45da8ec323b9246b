package record

const (
	restoreOperationVersion  = 1
	restoreProvenanceVersion = 1
)

// RestoreKind says what a restore brings back. Part of the store's format, and
// of the identity of a restore.
type RestoreKind byte

// The kinds of source.
const (
	RestoreSnapshot RestoreKind = 1
	RestoreCommit   RestoreKind = 2
)

// Restore is what a restore was asked for, and what that was found to mean. It
// does not change while the restore runs, nor afterwards.
type Restore struct {
	// Identity is the full digest of what identifies the restore; its first 16
	// bytes are the operation id. Initialization is that of all it was begun with,
	// the restore manifest among it.
	Identity       [identityLen]byte
	Initialization [identityLen]byte

	Kind RestoreKind
	// Snapshot is the id of the snapshot; 0 for a commit.
	Snapshot uint64
	// Base is the commit restored, or the one that the snapshot's workbench stood
	// on when it was minted.
	Base [identityLen]byte
	// Frozen is the root's revision whose files are restored.
	Frozen uint64

	// Source and Destination are workbench ids; the paths are their presentation
	// paths when the restore began.
	Source, SourcePath           string
	SourceIncarnation            [incarnationLen]byte
	Destination, DestinationPath string
	DestinationIncarnation       [incarnationLen]byte

	// AtMillis is when it began, by the store's clock.
	AtMillis int64
	// Manifest, ManifestLength and ManifestType bind the restore manifest.
	Manifest       [identityLen]byte
	ManifestLength int64
	ManifestType   string
}

func appendRestore(dst []byte, o *Restore) []byte {
	dst = append(append(dst, o.Identity[:]...), o.Initialization[:]...)
	dst = AppendUint(append(dst, byte(o.Kind)), o.Snapshot)
	dst = AppendUint(append(dst, o.Base[:]...), o.Frozen)
	dst = append(AppendBytes(AppendBytes(dst, o.Source), o.SourcePath), o.SourceIncarnation[:]...)
	dst = append(AppendBytes(AppendBytes(dst, o.Destination), o.DestinationPath), o.DestinationIncarnation[:]...)
	dst = append(AppendInt(dst, o.AtMillis), o.Manifest[:]...)
	return AppendBytes(AppendInt(dst, o.ManifestLength), o.ManifestType)
}

func readRestore(r *Reader) (o Restore) {
	copy(o.Identity[:], r.Fixed(identityLen))
	copy(o.Initialization[:], r.Fixed(identityLen))
	o.Kind, o.Snapshot = RestoreKind(r.Byte()), r.Uint()
	copy(o.Base[:], r.Fixed(identityLen))
	o.Frozen = r.Uint()
	o.Source, o.SourcePath = r.String(), r.String()
	copy(o.SourceIncarnation[:], r.Fixed(incarnationLen))
	o.Destination, o.DestinationPath = r.String(), r.String()
	copy(o.DestinationIncarnation[:], r.Fixed(incarnationLen))
	o.AtMillis = r.Int()
	copy(o.Manifest[:], r.Fixed(identityLen))
	o.ManifestLength, o.ManifestType = r.Int(), r.String()
	if (o.Kind != RestoreSnapshot || o.Snapshot == 0) && (o.Kind != RestoreCommit || o.Snapshot != 0) {
		r.Fail()
	}
	return o
}

// RestoreState is how far a restore has come. Part of the store's format.
type RestoreState byte

// The states of a restore that is under way.
const (
	// RestoreCopying: rows are being copied; After says up to where.
	RestoreCopying RestoreState = 1
	// RestoreCopied: all of them are there.
	RestoreCopied RestoreState = 2
	// RestoreAborting: it was given up, and its rows are being removed.
	RestoreAborting RestoreState = 3
)

// RestoreOperation is a restore that is under way.
type RestoreOperation struct {
	Restore
	State RestoreState
	// Again says that rows of an earlier try were removed, so that a key may have
	// had a version.
	Again bool
	// After is the last path of the source that was copied; "" before the first.
	After string
	// Tree and Members are the digest and the number of the source's files up to
	// After; Copied is how many of them are in the destination.
	Tree    [identityLen]byte
	Members uint64
	Copied  uint64
	// Body is the restore manifest.
	Body Body
}

// AppendRestoreOperation appends the encoding of o.
func AppendRestoreOperation(dst []byte, o RestoreOperation) []byte {
	dst = appendRestore(append(dst, restoreOperationVersion), &o.Restore)
	dst = AppendBool(append(dst, byte(o.State)), o.Again)
	dst = append(AppendBytes(dst, o.After), o.Tree[:]...)
	dst = AppendUint(AppendUint(dst, o.Members), o.Copied)
	return AppendBody(dst, o.Body)
}

// DecodeRestoreOperation reads what AppendRestoreOperation wrote. The body aliases
// the value.
func DecodeRestoreOperation(value []byte) (RestoreOperation, error) {
	_, r := NewReader(value, restoreOperationVersion)
	o := RestoreOperation{Restore: readRestore(&r)}
	o.State, o.Again, o.After = RestoreState(r.Byte()), r.Bool(), r.String()
	copy(o.Tree[:], r.Fixed(identityLen))
	o.Members, o.Copied = r.Uint(), r.Uint()
	o.Body = ReadBody(&r)
	if o.State < RestoreCopying || o.State > RestoreAborting {
		r.Fail()
	}
	if err := r.Done(); err != nil {
		return RestoreOperation{}, err
	}
	return o, nil
}

// RestoreProvenance says where a workbench was restored from. It is written with
// the workbench's marker and kept for ever.
type RestoreProvenance struct {
	Restore
	// Commit is the commit that the restore made in the destination.
	Commit [identityLen]byte
	// Members is how many files were restored.
	Members uint64
}

// AppendRestoreProvenance appends the encoding of p.
func AppendRestoreProvenance(dst []byte, p RestoreProvenance) []byte {
	dst = appendRestore(append(dst, restoreProvenanceVersion), &p.Restore)
	return AppendUint(append(dst, p.Commit[:]...), p.Members)
}

// DecodeRestoreProvenance reads what AppendRestoreProvenance wrote.
func DecodeRestoreProvenance(value []byte) (RestoreProvenance, error) {
	_, r := NewReader(value, restoreProvenanceVersion)
	p := RestoreProvenance{Restore: readRestore(&r)}
	copy(p.Commit[:], r.Fixed(identityLen))
	p.Members = r.Uint()
	if err := r.Done(); err != nil {
		return RestoreProvenance{}, err
	}
	return p, nil
}
