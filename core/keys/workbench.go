package keys

import "bytes"

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
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "names an incarnation that has a head; written last, so staged rows never show (WB-2)"},
	{ID: SpaceWorkbenchHead, Name: "workbench head", Versioned: true, Order: "incarnation", Cardinality: "1 per incarnation",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "its content revision is that of the newest change of content (WB-4)"},
	{ID: SpacePathRecord, Name: "path record", Versioned: true, Order: "incarnation, path", Cardinality: "1 per file; directories have none",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "its body resolves and has its digest (WB-5)"},
	{ID: SpaceIndexDigest, Name: "index by body_digest_uri", Versioned: true, Order: "digest (32 bytes), workbench id, incarnation, path", Cardinality: "1 per file",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "a row exists exactly when the path record holds the value (WB-6)"},
	{ID: SpaceIndexType, Name: "index by content_type", Versioned: true, Order: "value (first 256 bytes), workbench id, incarnation, path", Cardinality: "1 per file",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "as index by body_digest_uri"},
	{ID: SpaceIndexGeneration, Name: "index by generation", Versioned: true, Order: "generation, workbench id, incarnation, path", Cardinality: "1 per file",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "as index by body_digest_uri"},
	{ID: SpaceIndexSize, Name: "index by logical_size", Versioned: true, Order: "size, workbench id, incarnation, path", Cardinality: "1 per file",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "as index by body_digest_uri"},
	{ID: SpaceIndexCustom, Name: "index by custom value", Versioned: true, Order: "field, value (kind and value in order, first 256 bytes), workbench id, incarnation, path", Cardinality: "1 per file and custom value",
		Writer: "core/workbench", Reader: "core/workbench", Invariant: "as index by body_digest_uri"},
}

// IncarnationLen is the length of a workbench incarnation in a key.
const IncarnationLen = 16

// Incarnation tells the rows of one life of a workbench from those of another
// life under the same id.
type Incarnation = [IncarnationLen]byte

// IndexTextLen is how much of a text an index key holds. A longer text is found
// by this much, and looked at in its row.
const IndexTextLen = 256

// AppendWorkbenchMarker appends the key of the row that makes a workbench exist.
func AppendWorkbenchMarker(dst []byte, root uint32, id string) []byte {
	return AppendText(AppendPrefix(dst, SpaceWorkbenchMarker, root), id)
}

// CutWorkbenchMarker decodes a key written by AppendWorkbenchMarker.
func CutWorkbenchMarker(key []byte) (root uint32, id string, err error) {
	root, texts, rest, err := cutTexts(key, SpaceWorkbenchMarker, 1)
	if err != nil || len(rest) != 0 {
		return 0, "", ErrMalformed
	}
	return root, texts[0], nil
}

// AppendWorkbenchHead appends the key of a workbench's head.
func AppendWorkbenchHead(dst []byte, root uint32, in Incarnation) []byte {
	return AppendFixed(AppendPrefix(dst, SpaceWorkbenchHead, root), in[:])
}

// CutWorkbenchHead decodes a key written by AppendWorkbenchHead.
func CutWorkbenchHead(key []byte) (root uint32, in Incarnation, err error) {
	root, in, rest, err := cutIncarnation(key, SpaceWorkbenchHead)
	if err != nil || len(rest) != 0 {
		return 0, Incarnation{}, ErrMalformed
	}
	return root, in, nil
}

// AppendPathRecords appends what the keys of all path records of a workbench
// begin with.
func AppendPathRecords(dst []byte, root uint32, in Incarnation) []byte {
	return AppendFixed(AppendPrefix(dst, SpacePathRecord, root), in[:])
}

// AppendPathRecord appends the key of a path's record.
func AppendPathRecord(dst []byte, root uint32, in Incarnation, path string) []byte {
	return AppendPath(AppendPathRecords(dst, root, in), path)
}

// CutPathRecord decodes a key written by AppendPathRecord.
func CutPathRecord(key []byte) (root uint32, in Incarnation, path string, err error) {
	root, in, rest, err := cutIncarnation(key, SpacePathRecord)
	if err != nil {
		return 0, Incarnation{}, "", err
	}
	path, rest, err = CutPath(rest)
	if err != nil || len(rest) != 0 {
		return 0, Incarnation{}, "", ErrMalformed
	}
	return root, in, path, nil
}

// CutChild splits the next component off what follows a directory's prefix in a
// path record's key. file says that the key is the child's own record, and not
// that of something below it. The name aliases rest.
func CutChild(rest []byte) (name []byte, file bool, err error) {
	i := bytes.IndexByte(rest, separator)
	if i <= 0 || i+1 >= len(rest) {
		return nil, false, ErrMalformed
	}
	return rest[:i], rest[i+1] == separator, nil
}

// AppendIndexDigest appends the key of a file's row in the index by digest.
func AppendIndexDigest(dst []byte, root uint32, digest [32]byte, id string, in Incarnation, path string) []byte {
	dst = AppendFixed(AppendPrefix(dst, SpaceIndexDigest, root), digest[:])
	return appendIndexed(dst, id, in, path)
}

// AppendIndexType appends the key of a file's row in the index by content type.
func AppendIndexType(dst []byte, root uint32, contentType, id string, in Incarnation, path string) []byte {
	dst = AppendText(AppendPrefix(dst, SpaceIndexType, root), contentType[:min(len(contentType), IndexTextLen)])
	return appendIndexed(dst, id, in, path)
}

// AppendIndexGeneration appends the key of a file's row in the index by
// generation.
func AppendIndexGeneration(dst []byte, root uint32, generation uint64, id string, in Incarnation, path string) []byte {
	dst = AppendUint64(AppendPrefix(dst, SpaceIndexGeneration, root), generation)
	return appendIndexed(dst, id, in, path)
}

// AppendIndexSize appends the key of a file's row in the index by size.
func AppendIndexSize(dst []byte, root uint32, size uint64, id string, in Incarnation, path string) []byte {
	dst = AppendUint64(AppendPrefix(dst, SpaceIndexSize, root), size)
	return appendIndexed(dst, id, in, path)
}

// AppendIndexCustom appends the key of a file's row in the index by a custom
// field. value is what record.Scalar.AppendOrdered writes.
func AppendIndexCustom(dst []byte, root uint32, field string, value []byte, id string, in Incarnation, path string) []byte {
	dst = AppendText(AppendIndexCustomField(dst, root, field), value[:min(len(value), IndexTextLen)])
	return appendIndexed(dst, id, in, path)
}

// AppendIndexCustomField appends what the keys of all rows of a custom field
// begin with.
func AppendIndexCustomField(dst []byte, root uint32, field string) []byte {
	return AppendText(AppendPrefix(dst, SpaceIndexCustom, root), field)
}

// CutIndexCustomField decodes the field, and the beginning of the value, of a
// key written by AppendIndexCustom.
func CutIndexCustomField(key []byte) (field string, value []byte, err error) {
	space, _, rest, err := CutPrefix(key)
	if err != nil || space != SpaceIndexCustom {
		return "", nil, ErrMalformed
	}
	texts, rest, err := cutTextParts(rest, 1)
	if err != nil {
		return "", nil, err
	}
	value, _, err = CutText(nil, rest)
	return texts[0], value, err
}

func appendIndexed(dst []byte, id string, in Incarnation, path string) []byte {
	return AppendPath(AppendFixed(AppendText(dst, id), in[:]), path)
}

// CutIndexed decodes whose row a key of one of the indexes is.
func CutIndexed(key []byte) (root uint32, id string, in Incarnation, path string, err error) {
	fail := func() (uint32, string, Incarnation, string, error) { return 0, "", Incarnation{}, "", ErrMalformed }
	space, root, rest, err := CutPrefix(key)
	if err != nil {
		return fail()
	}
	switch space {
	case SpaceIndexDigest:
		_, rest, err = CutFixed(rest, 32)
	case SpaceIndexType:
		_, rest, err = CutText(nil, rest)
	case SpaceIndexGeneration, SpaceIndexSize:
		_, rest, err = CutUint64(rest)
	case SpaceIndexCustom:
		if _, rest, err = CutText(nil, rest); err == nil {
			_, rest, err = CutText(nil, rest)
		}
	default:
		return fail()
	}
	if err != nil {
		return fail()
	}
	texts, rest, err := cutTextParts(rest, 1)
	if err != nil {
		return fail()
	}
	b, rest, err := CutFixed(rest, IncarnationLen)
	if err != nil {
		return fail()
	}
	path, rest, err = CutPath(rest)
	if err != nil || len(rest) != 0 {
		return fail()
	}
	return root, texts[0], Incarnation(b), path, nil
}

func cutIncarnation(key []byte, space byte) (root uint32, in Incarnation, rest []byte, err error) {
	s, root, rest, err := CutPrefix(key)
	if err != nil || s != space {
		return 0, Incarnation{}, nil, ErrMalformed
	}
	b, rest, err := CutFixed(rest, IncarnationLen)
	if err != nil {
		return 0, Incarnation{}, nil, ErrMalformed
	}
	return root, Incarnation(b), rest, nil
}
