package keys

// Spaces of core/blob. Part of the store's format.
const (
	SpaceBodyExtent byte = 0x20
	SpaceBodyList   byte = 0x21
	SpaceSegment    byte = 0x22
	SpaceBodyRef    byte = 0xA0
	SpaceStaging    byte = 0xA1
	SpaceLooseList  byte = 0xA2
	SpaceLooseFile  byte = 0xA3
)

var bodySpaces = []Space{
	{ID: SpaceBodyExtent, Name: "body extent", Immutable: true, Order: "list, end offset", Cardinality: "1 or more per publication of a body that is not inline",
		Writer: "core/blob", Reader: "core/blob", Invariant: "the extents of a list follow each other without a gap from the list's start (BLOB-2)"},
	{ID: SpaceBodyList, Name: "body list", Immutable: true, Order: "list", Cardinality: "1 per extent list",
		Writer: "core/blob", Reader: "core/blob", Invariant: "has an extent and a reference, or is in the loose lists (BLOB-5)"},
	{ID: SpaceSegment, Name: "segment", Immutable: true, Order: "segment id", Cardinality: "1 per file that is published",
		Writer: "core/blob", Reader: "core/blob", Invariant: "the extent that it names exists, and the file is as long as it says (BLOB-6)"},
	{ID: SpaceBodyRef, Name: "body reference", Order: "list, end offset (descending), holder, revision", Cardinality: "1 per list and row version that embeds a body of it",
		Writer: "core/blob", Reader: "core/blob", Invariant: "exists exactly while the version of the row exists (BLOB-5)"},
	{ID: SpaceStaging, Name: "staging", Order: "segment id", Cardinality: "1 per file that is not published",
		Writer: "core/blob", Reader: "core/blob", Invariant: "durable before the file is created; required and deleted by the update that publishes (BLOB-6)"},
	{ID: SpaceLooseList, Name: "loose list", Order: "list", Cardinality: "1 per list with extents beyond its last reference",
		Writer: "core/blob", Reader: "core/blob collector", Invariant: "the list exists"},
	{ID: SpaceLooseFile, Name: "loose file", Order: "segment id", Cardinality: "1 per file that nothing refers to and that is not yet removed",
		Writer: "core/blob", Reader: "core/blob collector", Invariant: "the segment has neither a segment row nor a staging row (BLOB-7)"},
}

// ListIDLen and SegmentIDLen are the lengths of the parts that name an extent
// list and a segment file.
const (
	ListIDLen    = 8 + 4
	SegmentIDLen = 16
	HolderLen    = 16
)

// ListID names an extent list within its root: the revision that created it,
// and which of that update's lists it is. New lists so sort after old ones.
type ListID struct {
	Revision uint64
	Number   uint32
}

// SegmentID names a segment file. It is drawn from the store's id source.
type SegmentID [SegmentIDLen]byte

// Holder stands for the key of a row that embeds a body.
type Holder [HolderLen]byte

func appendListID(dst []byte, l ListID) []byte {
	return AppendUint32(AppendUint64(dst, l.Revision), l.Number)
}

func cutListID(key []byte) (l ListID, rest []byte, err error) {
	if l.Revision, rest, err = CutUint64(key); err != nil {
		return ListID{}, nil, err
	}
	l.Number, rest, err = CutUint32(rest)
	return l, rest, err
}

// AppendBodyExtents appends what the keys of all extents of a list begin with.
func AppendBodyExtents(dst []byte, root uint32, l ListID) []byte {
	return appendListID(AppendPrefix(dst, SpaceBodyExtent, root), l)
}

// AppendBodyExtent appends the key of the extent that ends just before byte end
// of the body. Keyed by the end, the extent that holds byte n is the first at
// or after n+1.
func AppendBodyExtent(dst []byte, root uint32, l ListID, end uint64) []byte {
	return AppendUint64(AppendBodyExtents(dst, root, l), end)
}

// CutBodyExtent decodes a key written by AppendBodyExtent.
func CutBodyExtent(key []byte) (root uint32, l ListID, end uint64, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != SpaceBodyExtent {
		return 0, ListID{}, 0, ErrMalformed
	}
	if l, rest, err = cutListID(rest); err != nil {
		return 0, ListID{}, 0, err
	}
	end, rest, err = CutUint64(rest)
	if err != nil || len(rest) != 0 {
		return 0, ListID{}, 0, ErrMalformed
	}
	return root, l, end, nil
}

// AppendBodyList appends the key of a list.
func AppendBodyList(dst []byte, root uint32, l ListID) []byte {
	return appendListID(AppendPrefix(dst, SpaceBodyList, root), l)
}

// CutBodyList decodes a key written by AppendBodyList.
func CutBodyList(key []byte) (root uint32, l ListID, err error) {
	return cutList(key, SpaceBodyList)
}

// AppendLooseList appends the key of a row in the queue of loose lists.
func AppendLooseList(dst []byte, root uint32, l ListID) []byte {
	return appendListID(AppendPrefix(dst, SpaceLooseList, root), l)
}

// CutLooseList decodes a key written by AppendLooseList.
func CutLooseList(key []byte) (root uint32, l ListID, err error) {
	return cutList(key, SpaceLooseList)
}

func cutList(key []byte, want byte) (root uint32, l ListID, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != want {
		return 0, ListID{}, ErrMalformed
	}
	l, rest, err = cutListID(rest)
	if err != nil || len(rest) != 0 {
		return 0, ListID{}, ErrMalformed
	}
	return root, l, nil
}

// AppendSegment appends the key of a published segment.
func AppendSegment(dst []byte, root uint32, id SegmentID) []byte {
	return append(AppendPrefix(dst, SpaceSegment, root), id[:]...)
}

// CutSegment decodes a key written by AppendSegment.
func CutSegment(key []byte) (root uint32, id SegmentID, err error) {
	return cutSegment(key, SpaceSegment)
}

// AppendStaging appends the key of a segment that is not published.
func AppendStaging(dst []byte, root uint32, id SegmentID) []byte {
	return append(AppendPrefix(dst, SpaceStaging, root), id[:]...)
}

// CutStaging decodes a key written by AppendStaging.
func CutStaging(key []byte) (root uint32, id SegmentID, err error) {
	return cutSegment(key, SpaceStaging)
}

// AppendLooseFile appends the key of a row in the queue of loose files.
func AppendLooseFile(dst []byte, root uint32, id SegmentID) []byte {
	return append(AppendPrefix(dst, SpaceLooseFile, root), id[:]...)
}

// CutLooseFile decodes a key written by AppendLooseFile.
func CutLooseFile(key []byte) (root uint32, id SegmentID, err error) {
	return cutSegment(key, SpaceLooseFile)
}

func cutSegment(key []byte, want byte) (root uint32, id SegmentID, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != want || len(rest) != SegmentIDLen {
		return 0, SegmentID{}, ErrMalformed
	}
	return root, SegmentID(rest), nil
}

// BodyRef is one reference to the first End bytes of a body, by way of a list.
type BodyRef struct {
	List ListID
	End  uint64
	// Holder and Revision name the version of the row that embeds the body.
	// Revision is 0 for a row that has no versions.
	Holder   Holder
	Revision uint64
}

// AppendBodyRefs appends what the keys of all references to a list begin with.
func AppendBodyRefs(dst []byte, root uint32, l ListID) []byte {
	return appendListID(AppendPrefix(dst, SpaceBodyRef, root), l)
}

// AppendBodyRef appends the key of a reference. The first reference of a list
// is one that reaches farthest.
func AppendBodyRef(dst []byte, root uint32, r BodyRef) []byte {
	dst = AppendUint64(AppendBodyRefs(dst, root, r.List), ^r.End)
	return AppendUint64(append(dst, r.Holder[:]...), r.Revision)
}

// CutBodyRef decodes a key written by AppendBodyRef.
func CutBodyRef(key []byte) (root uint32, r BodyRef, err error) {
	space, root, rest, err := CutPrefix(key)
	if err != nil || space != SpaceBodyRef {
		return 0, BodyRef{}, ErrMalformed
	}
	if r.List, rest, err = cutListID(rest); err != nil {
		return 0, BodyRef{}, err
	}
	if r.End, rest, err = CutUint64(rest); err != nil {
		return 0, BodyRef{}, err
	}
	r.End = ^r.End
	holder, rest, err := CutFixed(rest, HolderLen)
	if err != nil {
		return 0, BodyRef{}, err
	}
	r.Holder = Holder(holder)
	r.Revision, rest, err = CutUint64(rest)
	if err != nil || len(rest) != 0 {
		return 0, BodyRef{}, ErrMalformed
	}
	return root, r, nil
}
