package keys

// Spaces of core/blob. Part of the store's format.
const (
	SpaceBodyExtent byte = 0x20
	SpaceSegment    byte = 0x21
	SpaceBodyTip    byte = 0xA0
	SpaceSegmentRef byte = 0xA1
	SpaceStaging    byte = 0xA2
)

var bodySpaces = []Space{
	{ID: SpaceBodyExtent, Name: "body extent", Versioned: true, Order: "extent list, offset", Cardinality: "1 per append to a large body",
		Writer: "core/blob", Reader: "core/blob", Invariant: "the extents of a list follow each other without a gap"},
	{ID: SpaceSegment, Name: "segment", Versioned: true, Order: "segment id", Cardinality: "1 per file of bodies",
		Writer: "core/blob", Reader: "core/blob", Invariant: "the file exists and is as long as the row says"},
	{ID: SpaceBodyTip, Name: "body tip", Order: "extent list", Cardinality: "1 per extent list",
		Writer: "core/blob", Reader: "core/blob", Invariant: "is where the list ends; an append elsewhere forks it"},
	{ID: SpaceSegmentRef, Name: "segment reference", Order: "segment id, referrer", Cardinality: "1 per extent in a segment",
		Writer: "core/blob", Reader: "core/blob", Invariant: "a segment without one is dropped"},
	{ID: SpaceStaging, Name: "staging", Order: "upload id", Cardinality: "1 per upload that is not published",
		Writer: "core/blob", Reader: "core/blob", Invariant: "required and deleted by the update that publishes"},
}
