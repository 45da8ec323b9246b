package record

const (
	rootEntryVersion  = 1
	rootHeadVersion   = 1
	floorVersion      = 1
	holdVersion       = 2
	victimVersion     = 1
	clockMarkVersion  = 1
	metaVersion       = 1
	holdSerialVersion = 1
)

// RootEntry is a root's registration.
type RootEntry struct {
	// ID is dense, from 1.
	ID uint32
}

// AppendRootEntry appends the encoding of e.
func AppendRootEntry(dst []byte, e RootEntry) []byte {
	return AppendUint(append(dst, rootEntryVersion), uint64(e.ID))
}

// DecodeRootEntry reads what AppendRootEntry wrote.
func DecodeRootEntry(value []byte) (e RootEntry, err error) {
	_, r := NewReader(value, rootEntryVersion)
	id := r.Uint()
	if id > 1<<32-1 {
		r.Fail()
	}
	if err := r.Done(); err != nil {
		return RootEntry{}, err
	}
	return RootEntry{ID: uint32(id)}, nil
}

// RootHead is the last revision of a root.
type RootHead struct {
	Revision uint64
	// AtMillis is when the revision was applied, by the store's clock.
	AtMillis int64
}

// AppendRootHead appends the encoding of h.
func AppendRootHead(dst []byte, h RootHead) []byte {
	return AppendInt(AppendUint(append(dst, rootHeadVersion), h.Revision), h.AtMillis)
}

// DecodeRootHead reads what AppendRootHead wrote.
func DecodeRootHead(value []byte) (RootHead, error) {
	_, r := NewReader(value, rootHeadVersion)
	h := RootHead{Revision: r.Uint(), AtMillis: r.Int()}
	if err := r.Done(); err != nil {
		return RootHead{}, err
	}
	return h, nil
}

// Floor is the lowest revision of a root that can be read without a hold.
type Floor struct{ Revision uint64 }

// AppendFloor appends the encoding of f.
func AppendFloor(dst []byte, f Floor) []byte {
	return AppendUint(append(dst, floorVersion), f.Revision)
}

// DecodeFloor reads what AppendFloor wrote.
func DecodeFloor(value []byte) (Floor, error) {
	_, r := NewReader(value, floorVersion)
	f := Floor{Revision: r.Uint()}
	if err := r.Done(); err != nil {
		return Floor{}, err
	}
	return f, nil
}

// Hold keeps everything that is visible at one revision.
type Hold struct {
	Revision uint64
	// Released holds keep nothing; the row stays until the reaper has emptied
	// the hold's queue.
	Released bool
	// Kind and Owner belong to whoever minted the hold. Owner aliases the value
	// that was decoded.
	Kind  byte
	Owner []byte
	// Prefix limits the hold to the rows whose keys begin with it; nil holds all
	// rows of the root. It aliases like Owner.
	Prefix []byte
}

// AppendHold appends the encoding of h: version 1, and version 2 with a prefix.
func AppendHold(dst []byte, h Hold) []byte {
	version := byte(1)
	if len(h.Prefix) > 0 {
		version = 2
	}
	dst = AppendUint(append(dst, version), h.Revision)
	dst = AppendBytes(append(AppendBool(dst, h.Released), h.Kind), h.Owner)
	if version == 1 {
		return dst
	}
	return AppendBytes(dst, h.Prefix)
}

// DecodeHold reads what AppendHold wrote.
func DecodeHold(value []byte) (Hold, error) {
	version, r := NewReader(value, holdVersion)
	h := Hold{Revision: r.Uint(), Released: r.Bool(), Kind: r.Byte(), Owner: r.Bytes()}
	if version >= 2 {
		if h.Prefix = r.Bytes(); len(h.Prefix) == 0 {
			r.Fail()
		}
	}
	if err := r.Done(); err != nil {
		return Hold{}, err
	}
	return h, nil
}

// HoldSerial is the last hold id that a root has minted.
type HoldSerial struct{ Last uint64 }

// AppendHoldSerial appends the encoding of h.
func AppendHoldSerial(dst []byte, h HoldSerial) []byte {
	return AppendUint(append(dst, holdSerialVersion), h.Last)
}

// DecodeHoldSerial reads what AppendHoldSerial wrote.
func DecodeHoldSerial(value []byte) (HoldSerial, error) {
	_, r := NewReader(value, holdSerialVersion)
	h := HoldSerial{Last: r.Uint()}
	if err := r.Done(); err != nil {
		return HoldSerial{}, err
	}
	return h, nil
}

// Victim is a row of a reaper's queue: a version that nobody needs once the
// history window has passed and no hold covers it.
type Victim struct {
	// AtMillis is when the version was superseded, by the store's clock.
	AtMillis int64
	// Revision is the revision of the version.
	Revision uint64
	// Key is the version's key without the revision; it aliases the value that
	// was decoded.
	Key []byte
}

// AppendVictim appends the encoding of v.
func AppendVictim(dst []byte, v Victim) []byte {
	dst = AppendInt(append(dst, victimVersion), v.AtMillis)
	return AppendBytes(AppendUint(dst, v.Revision), v.Key)
}

// DecodeVictim reads what AppendVictim wrote.
func DecodeVictim(value []byte) (Victim, error) {
	_, r := NewReader(value, victimVersion)
	v := Victim{AtMillis: r.Int(), Revision: r.Uint(), Key: r.Bytes()}
	if err := r.Done(); err != nil {
		return Victim{}, err
	}
	return v, nil
}

// ClockMark is the latest instant that an update was told.
type ClockMark struct{ AtMillis int64 }

// AppendClockMark appends the encoding of m.
func AppendClockMark(dst []byte, m ClockMark) []byte {
	return AppendInt(append(dst, clockMarkVersion), m.AtMillis)
}

// DecodeClockMark reads what AppendClockMark wrote.
func DecodeClockMark(value []byte) (ClockMark, error) {
	_, r := NewReader(value, clockMarkVersion)
	m := ClockMark{AtMillis: r.Int()}
	if err := r.Done(); err != nil {
		return ClockMark{}, err
	}
	return m, nil
}

// AppendMeta appends the encoding of one of the store's own facts.
func AppendMeta(dst, fact []byte) []byte {
	return AppendBytes(append(dst, metaVersion), fact)
}

// DecodeMeta reads what AppendMeta wrote; the result aliases value.
func DecodeMeta(value []byte) ([]byte, error) {
	_, r := NewReader(value, metaVersion)
	fact := r.Bytes()
	if err := r.Done(); err != nil {
		return nil, err
	}
	return fact, nil
}
