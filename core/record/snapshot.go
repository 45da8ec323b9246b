package record

const (
	snapshotVersion       = 1
	snapshotAliasVersion  = 1
	snapshotSerialVersion = 1
)

// SnapshotState is where a snapshot is in its life, as far as it is stored. Part
// of the store's format.
type SnapshotState byte

// The states of a snapshot. Whether an active one is alive or expired is a
// matter of the clock.
const (
	SnapshotActive  SnapshotState = 1
	SnapshotRetired SnapshotState = 2
	SnapshotReaped  SnapshotState = 3
)

// Annotation is what a caller said about a snapshot.
type Annotation struct {
	// Reason is nil when none was given.
	Reason *string
	// Metadata is a JSON object in canonical form, and empty when none was given.
	// It aliases the value that was decoded.
	Metadata []byte
}

// Snapshot is the files of a workbench at one revision, under a lease.
type Snapshot struct {
	State SnapshotState
	// Name is what it was minted with; nil without one.
	Name *string
	// Revision is the root's revision that it shows, and that minted it.
	Revision uint64
	// Hold keeps the workbench's files at Revision while the snapshot is active.
	Hold uint64
	// ContentRevision is that of the workbench at Revision.
	ContentRevision uint64
	// CommitGeneration and CommitIdentity are the commit head at Revision.
	CommitGeneration uint64
	CommitIdentity   [32]byte
	// MintedMillis is when it was minted, and DeadlineMillis when its lease ends,
	// by the store's clock.
	MintedMillis   int64
	DeadlineMillis int64
	Annotation     Annotation
	// Retirement is what was said when it was retired; nil when nothing was.
	Retirement *string
}

// AppendSnapshot appends the encoding of s.
func AppendSnapshot(dst []byte, s Snapshot) []byte {
	dst = append(dst, snapshotVersion, byte(s.State))
	dst = appendOptString(dst, s.Name)
	dst = AppendUint(AppendUint(AppendUint(dst, s.Revision), s.Hold), s.ContentRevision)
	dst = append(AppendUint(dst, s.CommitGeneration), s.CommitIdentity[:]...)
	dst = AppendInt(AppendInt(dst, s.MintedMillis), s.DeadlineMillis)
	dst = appendOptString(dst, s.Annotation.Reason)
	dst = AppendBytes(dst, s.Annotation.Metadata)
	return appendOptString(dst, s.Retirement)
}

// DecodeSnapshot reads what AppendSnapshot wrote.
func DecodeSnapshot(value []byte) (Snapshot, error) {
	_, r := NewReader(value, snapshotVersion)
	s := Snapshot{State: SnapshotState(r.Byte()), Name: readOptString(&r), Revision: r.Uint(), Hold: r.Uint(), ContentRevision: r.Uint(), CommitGeneration: r.Uint()}
	copy(s.CommitIdentity[:], r.Fixed(len(s.CommitIdentity)))
	s.MintedMillis, s.DeadlineMillis = r.Int(), r.Int()
	s.Annotation.Reason = readOptString(&r)
	s.Annotation.Metadata = r.Bytes()
	s.Retirement = readOptString(&r)
	if s.State < SnapshotActive || s.State > SnapshotReaped {
		r.Fail()
	}
	if err := r.Done(); err != nil {
		return Snapshot{}, err
	}
	return s, nil
}

// SnapshotAlias is the snapshot that a name means.
type SnapshotAlias struct{ ID uint64 }

// AppendSnapshotAlias appends the encoding of a.
func AppendSnapshotAlias(dst []byte, a SnapshotAlias) []byte {
	return AppendUint(append(dst, snapshotAliasVersion), a.ID)
}

// DecodeSnapshotAlias reads what AppendSnapshotAlias wrote.
func DecodeSnapshotAlias(value []byte) (SnapshotAlias, error) {
	_, r := NewReader(value, snapshotAliasVersion)
	a := SnapshotAlias{ID: r.Uint()}
	if err := r.Done(); err != nil {
		return SnapshotAlias{}, err
	}
	return a, nil
}

// SnapshotSerial is the last snapshot id that a root has minted.
type SnapshotSerial struct{ Last uint64 }

// AppendSnapshotSerial appends the encoding of s.
func AppendSnapshotSerial(dst []byte, s SnapshotSerial) []byte {
	return AppendUint(append(dst, snapshotSerialVersion), s.Last)
}

// DecodeSnapshotSerial reads what AppendSnapshotSerial wrote.
func DecodeSnapshotSerial(value []byte) (SnapshotSerial, error) {
	_, r := NewReader(value, snapshotSerialVersion)
	s := SnapshotSerial{Last: r.Uint()}
	if err := r.Done(); err != nil {
		return SnapshotSerial{}, err
	}
	return s, nil
}
