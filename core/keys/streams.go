package keys

// Spaces of the small durable things: logs, timers, leases, operations. Part of
// the store's format.
const (
	SpaceEvent     byte = 0x30
	SpaceEventHead byte = 0x31
	SpaceOperation byte = 0x32
	SpaceAudit     byte = 0x33
	SpaceSeal      byte = 0x34
	SpaceTimer     byte = 0xB0
	SpaceTimerDue  byte = 0xB1
	SpaceLease     byte = 0xB2
)

var streamSpaces = []Space{
	{ID: SpaceEvent, Name: "event", Versioned: true, Order: "stream, sequence", Cardinality: "1 per event that is not trimmed",
		Writer: "core/events", Reader: "core/events", Invariant: "the sequences of a stream are exactly those from its head's first to its last (EVT-1)"},
	{ID: SpaceEventHead, Name: "event head", Versioned: true, Order: "stream", Cardinality: "1 per stream that ever had an event",
		Writer: "core/events", Reader: "core/events", Invariant: "its last sequence never goes down (EVT-1)"},
	{ID: SpaceOperation, Name: "operation record", Versioned: true, Order: "kind, operation key", Cardinality: "1 per operation with an identity",
		Writer: "core/oprecord", Reader: "core/oprecord", Invariant: "refers to bodies and never contains them (OPR-3)"},
	{ID: SpaceAudit, Name: "audit", Versioned: true, Order: "revision, number", Cardinality: "1 per audited change",
		Writer: "core/audit", Reader: "core/audit", Invariant: "written by the update that it records (AUD-1)"},
	{ID: SpaceSeal, Name: "seal", Versioned: true, Order: "-", Cardinality: "0 or 1 in the store",
		Writer: "core/seal", Reader: "core/seal", Invariant: "names the key of every sealed value (SEAL-3)"},
	{ID: SpaceTimer, Name: "timer", Order: "kind, timer id", Cardinality: "1 per armed timer",
		Writer: "core/timer", Reader: "core/timer", Invariant: "has exactly one row among the due times, at its own due time (TMR-1)"},
	{ID: SpaceTimerDue, Name: "timer due", Order: "due time, kind, timer id", Cardinality: "1 per armed timer",
		Writer: "core/timer", Reader: "core/timer", Invariant: "the timer exists and is due then (TMR-1)"},
	{ID: SpaceLease, Name: "lease", Order: "lease name", Cardinality: "1 per name ever leased",
		Writer: "core/lease", Reader: "core/lease", Invariant: "its fence never goes down (LEA-1)"},
}

// AppendEvents appends what the keys of all events of a stream begin with.
func AppendEvents(dst []byte, root uint32, stream string) []byte {
	return AppendText(AppendPrefix(dst, SpaceEvent, root), stream)
}

// AppendEvent appends the key of one event.
func AppendEvent(dst []byte, root uint32, stream string, sequence uint64) []byte {
	return AppendUint64(AppendEvents(dst, root, stream), sequence)
}

// CutEvent decodes a key written by AppendEvent.
func CutEvent(key []byte) (root uint32, stream string, sequence uint64, err error) {
	root, texts, rest, err := cutTexts(key, SpaceEvent, 1)
	if err != nil {
		return 0, "", 0, err
	}
	sequence, rest, err = CutUint64(rest)
	if err != nil || len(rest) != 0 {
		return 0, "", 0, ErrMalformed
	}
	return root, texts[0], sequence, nil
}

// AppendEventHead appends the key of a stream's head.
func AppendEventHead(dst []byte, root uint32, stream string) []byte {
	return AppendText(AppendPrefix(dst, SpaceEventHead, root), stream)
}

// CutEventHead decodes a key written by AppendEventHead.
func CutEventHead(key []byte) (root uint32, stream string, err error) {
	root, texts, rest, err := cutTexts(key, SpaceEventHead, 1)
	if err != nil || len(rest) != 0 {
		return 0, "", ErrMalformed
	}
	return root, texts[0], nil
}

// AppendOperation appends the key of an operation record.
func AppendOperation(dst []byte, root uint32, kind, operation string) []byte {
	return AppendText(AppendText(AppendPrefix(dst, SpaceOperation, root), kind), operation)
}

// CutOperation decodes a key written by AppendOperation.
func CutOperation(key []byte) (root uint32, kind, operation string, err error) {
	root, texts, rest, err := cutTexts(key, SpaceOperation, 2)
	if err != nil || len(rest) != 0 {
		return 0, "", "", ErrMalformed
	}
	return root, texts[0], texts[1], nil
}

// AppendAudit appends the key of an audit record.
func AppendAudit(dst []byte, root uint32, revision uint64, number uint32) []byte {
	return AppendUint32(AppendUint64(AppendPrefix(dst, SpaceAudit, root), revision), number)
}

// CutAudit decodes a key written by AppendAudit.
func CutAudit(key []byte) (root uint32, revision uint64, number uint32, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != SpaceAudit {
		return 0, 0, 0, ErrMalformed
	}
	if revision, rest, err = CutUint64(rest); err != nil {
		return 0, 0, 0, err
	}
	number, rest, err = CutUint32(rest)
	if err != nil || len(rest) != 0 {
		return 0, 0, 0, ErrMalformed
	}
	return root, revision, number, nil
}

// AppendSeal appends the key of the row that names the sealing key.
func AppendSeal(dst []byte, root uint32) []byte { return AppendPrefix(dst, SpaceSeal, root) }

// AppendTimer appends the key of a timer.
func AppendTimer(dst []byte, root uint32, kind, id string) []byte {
	return AppendText(AppendText(AppendPrefix(dst, SpaceTimer, root), kind), id)
}

// CutTimer decodes a key written by AppendTimer.
func CutTimer(key []byte) (root uint32, kind, id string, err error) {
	root, texts, rest, err := cutTexts(key, SpaceTimer, 2)
	if err != nil || len(rest) != 0 {
		return 0, "", "", ErrMalformed
	}
	return root, texts[0], texts[1], nil
}

// AppendTimerDue appends the key under which a timer is found by its due time.
func AppendTimerDue(dst []byte, root uint32, dueMillis int64, kind, id string) []byte {
	dst = AppendInt64(AppendPrefix(dst, SpaceTimerDue, root), dueMillis)
	return AppendText(AppendText(dst, kind), id)
}

// CutTimerDue decodes a key written by AppendTimerDue.
func CutTimerDue(key []byte) (root uint32, dueMillis int64, kind, id string, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != SpaceTimerDue {
		return 0, 0, "", "", ErrMalformed
	}
	if dueMillis, rest, err = CutInt64(rest); err != nil {
		return 0, 0, "", "", err
	}
	texts, rest, err := cutTextParts(rest, 2)
	if err != nil || len(rest) != 0 {
		return 0, 0, "", "", ErrMalformed
	}
	return root, dueMillis, texts[0], texts[1], nil
}

// AppendLease appends the key of a lease.
func AppendLease(dst []byte, root uint32, name string) []byte {
	return AppendText(AppendPrefix(dst, SpaceLease, root), name)
}

// CutLease decodes a key written by AppendLease.
func CutLease(key []byte) (root uint32, name string, err error) {
	root, texts, rest, err := cutTexts(key, SpaceLease, 1)
	if err != nil || len(rest) != 0 {
		return 0, "", ErrMalformed
	}
	return root, texts[0], nil
}

// cutTexts decodes a key of the space that begins with n texts.
func cutTexts(key []byte, want byte, n int) (root uint32, texts [2]string, rest []byte, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != want {
		return 0, texts, nil, ErrMalformed
	}
	texts, rest, err = cutTextParts(rest, n)
	return root, texts, rest, err
}

func cutTextParts(key []byte, n int) (texts [2]string, rest []byte, err error) {
	rest = key
	for i := range n {
		var text []byte
		if text, rest, err = CutText(nil, rest); err != nil {
			return texts, nil, err
		}
		texts[i] = string(text)
	}
	return texts, rest, nil
}
