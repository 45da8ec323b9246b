package keys

// Spaces of core/workbench. Part of the store's format.
const (
	SpaceWorkbenchMarker byte = 0x10
	SpaceWorkbenchHead   byte = 0x11
	SpacePathRecord      byte = 0x12
	SpaceIndexDigest     byte = 0x13
	SpaceIndexType       byte = 0x14
	SpaceIndexGeneration byte = 0x15
	SpaceIndexSize       byte = 0x16
	SpaceIndexCustom     byte = 0x17
)

var workbenchSpaces = []Space{
	{ID: SpaceWorkbenchMarker, Name: "workbench marker", Versioned: true, Order: "workbench id", Cardinality: "1 per workbench",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "names an incarnation that has a head; written last, so staged rows never show"},
	{ID: SpaceWorkbenchHead, Name: "workbench head", Versioned: true, Order: "incarnation", Cardinality: "1 per incarnation",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "its content revision is that of the newest change of content"},
	{ID: SpacePathRecord, Name: "path record", Versioned: true, Order: "incarnation, path", Cardinality: "1 per file and directory",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "every parent exists; a file's body resolves"},
	{ID: SpaceIndexDigest, Name: "index by body_digest_uri", Versioned: true, Order: "value (first 256 bytes), incarnation, path", Cardinality: "1 per file",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "a row exists exactly when the path record holds the value"},
	{ID: SpaceIndexType, Name: "index by content_type", Versioned: true, Order: "value (first 256 bytes), incarnation, path", Cardinality: "0 or 1 per file",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "as index by body_digest_uri; null is not indexed"},
	{ID: SpaceIndexGeneration, Name: "index by generation", Versioned: true, Order: "generation, incarnation, path", Cardinality: "1 per file",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "as index by body_digest_uri"},
	{ID: SpaceIndexSize, Name: "index by logical_size", Versioned: true, Order: "size, incarnation, path", Cardinality: "1 per file",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "as index by body_digest_uri"},
	{ID: SpaceIndexCustom, Name: "index by custom value", Versioned: true, Order: "field, value (first 256 bytes), incarnation, path", Cardinality: "1 per file and custom value",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "as index by body_digest_uri; null is not indexed"},
}
