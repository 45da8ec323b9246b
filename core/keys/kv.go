package keys

// Spaces that core/kv keeps for itself. Part of the store's format.
const (
	SpaceMeta       byte = 0x80
	SpaceClock      byte = 0x81
	SpaceRoots      byte = 0x82
	SpaceRootHead   byte = 0x83
	SpaceFloor      byte = 0x84
	SpaceHolds      byte = 0x85
	SpaceReapQueue  byte = 0x86
	SpaceHoldQueue  byte = 0x87
	SpaceHoldSerial byte = 0x88
)

// StoreRoot is the root id of rows that belong to the store as a whole. No
// registered root has it.
const StoreRoot uint32 = 0

var kvSpaces = []Space{
	{ID: SpaceMeta, Name: "meta", Order: "name", Cardinality: "a handful in the store",
		Writer: "core/kv", Reader: "core/kv", Invariant: "format, installation and tenant exist from the first open on and never change"},
	{ID: SpaceClock, Name: "clock", Order: "-", Cardinality: "1 in the store",
		Writer: "core/kv", Reader: "core/kv at open", Invariant: "no instant that an Update was told is later (KV-10)"},
	{ID: SpaceRoots, Name: "roots", Order: "area, tenant, name", Cardinality: "1 per root, under the store's root",
		Writer: "core/kv", Reader: "core/kv", Invariant: "ids are dense from 1; each has a root head (KV-1)"},
	{ID: SpaceRootHead, Name: "root head", Order: "-", Cardinality: "1",
		Writer: "core/kv", Reader: "core/kv at open", Invariant: "no version in the root has a higher revision (KV-2)"},
	{ID: SpaceFloor, Name: "history floor", Order: "-", Cardinality: "0 or 1",
		Writer: "core/kv reaper", Reader: "core/kv at open", Invariant: "durable before anything that it allows to drop is dropped (KV-8)"},
	{ID: SpaceHolds, Name: "holds", Order: "hold id", Cardinality: "1 per hold",
		Writer: "core/kv", Reader: "core/kv", Invariant: "a hold's revision is at most the root's head (KV-9)"},
	{ID: SpaceReapQueue, Name: "reaper queue", Order: "superseding revision, number in the update", Cardinality: "1 per version that is not the newest, and 1 per deletion",
		Writer: "core/kv", Reader: "core/kv reaper", Invariant: "every superseded version is in this queue or in that of a hold (KV-7)"},
	{ID: SpaceHoldQueue, Name: "hold queue", Order: "hold id, superseding revision, number in the update", Cardinality: "1 per version that only a hold keeps",
		Writer: "core/kv reaper", Reader: "core/kv reaper", Invariant: "the hold exists, or was released and awaits its reaping (KV-7)"},
	{ID: SpaceHoldSerial, Name: "hold serial", Order: "-", Cardinality: "0 or 1",
		Writer: "core/kv", Reader: "core/kv", Invariant: "no hold of the root has a higher id, so an id is never minted twice (KV-9)"},
}

// AppendMeta appends the key of one of the store's own facts.
func AppendMeta(dst []byte, name string) []byte {
	return AppendText(AppendPrefix(dst, SpaceMeta, StoreRoot), name)
}

// AppendClock appends the key of the clock's high-water mark.
func AppendClock(dst []byte) []byte { return AppendPrefix(dst, SpaceClock, StoreRoot) }

// AppendRoot appends the key of a root's registration.
func AppendRoot(dst []byte, area, tenant, name string) []byte {
	dst = AppendPrefix(dst, SpaceRoots, StoreRoot)
	return AppendText(AppendText(AppendText(dst, area), tenant), name)
}

// CutRoot decodes a key written by AppendRoot.
func CutRoot(key []byte) (area, tenant, name string, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != SpaceRoots || root != StoreRoot {
		return "", "", "", ErrMalformed
	}
	var parts [3][]byte
	for i := range parts {
		if parts[i], rest, err = CutText(nil, rest); err != nil {
			return "", "", "", err
		}
	}
	if len(rest) != 0 {
		return "", "", "", ErrMalformed
	}
	return string(parts[0]), string(parts[1]), string(parts[2]), nil
}

// AppendRootHead appends the key of a root's head.
func AppendRootHead(dst []byte, root uint32) []byte { return AppendPrefix(dst, SpaceRootHead, root) }

// AppendFloor appends the key of a root's history floor.
func AppendFloor(dst []byte, root uint32) []byte { return AppendPrefix(dst, SpaceFloor, root) }

// AppendHoldSerial appends the key of the last hold id that a root has minted.
func AppendHoldSerial(dst []byte, root uint32) []byte {
	return AppendPrefix(dst, SpaceHoldSerial, root)
}

// AppendHold appends the key of a hold.
func AppendHold(dst []byte, root uint32, hold uint64) []byte {
	return AppendUint64(AppendPrefix(dst, SpaceHolds, root), hold)
}

// CutHold decodes a key written by AppendHold.
func CutHold(key []byte) (root uint32, hold uint64, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != SpaceHolds {
		return 0, 0, ErrMalformed
	}
	hold, rest, err = CutUint64(rest)
	if err != nil || len(rest) != 0 {
		return 0, 0, ErrMalformed
	}
	return root, hold, nil
}

// Victim names a row of a reaper's queue: who superseded, and which of its
// supersedes this is.
type Victim struct {
	// Revision superseded the version that the row's value names.
	Revision uint64
	// Number counts the rows of one update, from 0.
	Number uint32
}

// AppendReap appends the key of a row in the root's reaper queue.
func AppendReap(dst []byte, root uint32, v Victim) []byte {
	dst = AppendUint64(AppendPrefix(dst, SpaceReapQueue, root), v.Revision)
	return AppendUint32(dst, v.Number)
}

// CutReap decodes a key written by AppendReap.
func CutReap(key []byte) (root uint32, v Victim, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != SpaceReapQueue {
		return 0, Victim{}, ErrMalformed
	}
	v, err = cutVictim(rest)
	return root, v, err
}

// AppendHoldReap appends the key of a row in a hold's queue.
func AppendHoldReap(dst []byte, root uint32, hold uint64, v Victim) []byte {
	dst = AppendUint64(AppendPrefix(dst, SpaceHoldQueue, root), hold)
	return AppendUint32(AppendUint64(dst, v.Revision), v.Number)
}

// CutHoldReap decodes a key written by AppendHoldReap.
func CutHoldReap(key []byte) (root uint32, hold uint64, v Victim, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != SpaceHoldQueue {
		return 0, 0, Victim{}, ErrMalformed
	}
	if hold, rest, err = CutUint64(rest); err != nil {
		return 0, 0, Victim{}, err
	}
	v, err = cutVictim(rest)
	return root, hold, v, err
}

func cutVictim(rest []byte) (v Victim, err error) {
	if v.Revision, rest, err = CutUint64(rest); err != nil {
		return Victim{}, err
	}
	v.Number, rest, err = CutUint32(rest)
	if err != nil || len(rest) != 0 {
		return Victim{}, ErrMalformed
	}
	return v, nil
}
