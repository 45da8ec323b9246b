package keys

// Spaces of the small durable things: logs, timers, leases, operations. Part of
// the store's format.
const (
	SpaceEvent     byte = 0x30
	SpaceEventHead byte = 0x31
	SpaceTimer     byte = 0x32
	SpaceLease     byte = 0x33
	SpaceOperation byte = 0x34
	SpaceAudit     byte = 0x35
	SpaceSeal      byte = 0x36
)

var streamSpaces = []Space{
	{ID: SpaceEvent, Name: "event", Versioned: true, Order: "stream, sequence", Cardinality: "1 per event that is not trimmed",
		Writer: "core/events", Reader: "core/events", Invariant: "sequences of a stream have no gap between its head's first and last"},
	{ID: SpaceEventHead, Name: "event head", Versioned: true, Order: "stream", Cardinality: "1 per stream",
		Writer: "core/events", Reader: "core/events", Invariant: "its last sequence is that of the newest event"},
	{ID: SpaceTimer, Name: "timer", Versioned: true, Order: "due time, timer id", Cardinality: "1 per armed timer",
		Writer: "core/timer", Reader: "core/timer", Invariant: "due times are those of Tx.Now, in milliseconds"},
	{ID: SpaceLease, Name: "lease", Versioned: true, Order: "lease name", Cardinality: "1 per name ever leased",
		Writer: "core/lease", Reader: "core/lease", Invariant: "its fence never goes down"},
	{ID: SpaceOperation, Name: "operation record", Versioned: true, Order: "kind, operation key", Cardinality: "1 per operation with an identity",
		Writer: "core/oprecord", Reader: "core/oprecord", Invariant: "refers to bodies and never contains them"},
	{ID: SpaceAudit, Name: "audit", Versioned: true, Order: "revision, number", Cardinality: "1 per audited change",
		Writer: "core/audit", Reader: "core/audit", Invariant: "written by the update that it records"},
	{ID: SpaceSeal, Name: "seal", Versioned: true, Order: "key id", Cardinality: "1 per sealing key",
		Writer: "core/seal", Reader: "core/seal", Invariant: "every sealed value names one"},
}
