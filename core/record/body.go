package record

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

const (
	extentVersion    = 1
	listVersion      = 1
	segmentVersion   = 1
	bodyRefVersion   = 1
	stagingVersion   = 1
	looseListVersion = 1
	looseFileVersion = 1
)

const segmentIDLen = 16

// hashBlock is the block length of SHA-256.
const hashBlock = 64

// HashState is a SHA-256 that stopped after some bytes and can go on: the
// chaining value after the full blocks, and the bytes of the last, unfinished
// block. The form is our own and not that of a library, so that a state at rest
// outlives the library's version.
type HashState struct {
	Chain [sha256.Size]byte
	// Rest holds the bytes after the last full block, fewer than 64.
	Rest []byte
}

// BodyList names an extent list; see keys.ListID.
type BodyList struct {
	Revision uint64
	Number   uint32
}

// BodySpan is the part of a body that one extent list holds: from the end of
// the span before it (or 0) to End.
type BodySpan struct {
	List BodyList
	End  int64
}

// Body says where the bytes of a body are. It is a part of other records, not
// a record of its own. The zero Body is an empty body without its digest.
type Body struct {
	// Length in bytes; SHA256 is the digest of all of them.
	Length int64
	SHA256 [sha256.Size]byte
	// Spans hold the first bytes, in order. A small body has none.
	Spans []BodySpan
	// Hash is the state after the bytes of the spans. It is set exactly when
	// there are spans.
	Hash HashState
	// Tail holds the bytes after the spans, and TailSum their CRC-32C (0 for no
	// bytes).
	Tail    []byte
	TailSum uint32
}

// Spanned returns how many bytes the spans hold.
func (b *Body) Spanned() int64 {
	if len(b.Spans) == 0 {
		return 0
	}
	return b.Spans[len(b.Spans)-1].End
}

// Clone returns a copy of b that shares no memory with it.
func (b Body) Clone() Body {
	b.Spans = slices.Clone(b.Spans)
	b.Hash.Rest = slices.Clone(b.Hash.Rest)
	b.Tail = slices.Clone(b.Tail)
	return b
}

// AppendBody appends the encoding of b, which delimits itself.
func AppendBody(dst []byte, b Body) []byte {
	dst = append(dst, b.SHA256[:]...)
	dst = AppendUint(dst, uint64(len(b.Spans)))
	end := int64(0)
	for _, s := range b.Spans {
		dst = AppendUint(AppendUint(dst, s.List.Revision), uint64(s.List.Number))
		dst = AppendUint(dst, uint64(s.End-end))
		end = s.End
	}
	if len(b.Spans) > 0 {
		dst = appendHashState(dst, b.Hash)
	}
	dst = AppendBytes(dst, b.Tail)
	if len(b.Tail) > 0 {
		dst = binary.BigEndian.AppendUint32(dst, b.TailSum)
	}
	return dst
}

// ReadBody reads what AppendBody wrote. Tail and Hash.Rest alias the value.
func ReadBody(r *Reader) Body {
	var b Body
	copy(b.SHA256[:], r.Fixed(sha256.Size))
	n := r.Uint()
	if n > uint64(r.Len())/3 { // a span has at least three bytes
		r.Fail()
		return Body{}
	}
	end := int64(0)
	for range n {
		list := readBodyList(r)
		length := readLength(r)
		if length == 0 || end+length < end {
			r.Fail()
			return Body{}
		}
		end += length
		b.Spans = append(b.Spans, BodySpan{List: list, End: end})
	}
	if n > 0 {
		b.Hash = readHashState(r, end)
	}
	b.Tail = r.Bytes()
	if len(b.Tail) > 0 {
		b.TailSum = readUint32(r)
	}
	b.Length = end + int64(len(b.Tail))
	if r.Failed() || b.Length < end {
		r.Fail()
		return Body{}
	}
	return b
}

func appendHashState(dst []byte, s HashState) []byte {
	return append(append(dst, s.Chain[:]...), s.Rest...)
}

// readHashState reads a state after a known number of bytes: that number says
// how many of them are in the unfinished block.
func readHashState(r *Reader, hashed int64) (s HashState) {
	copy(s.Chain[:], r.Fixed(sha256.Size))
	s.Rest = r.Fixed(int(hashed % hashBlock))
	return s
}

func readBodyList(r *Reader) BodyList {
	l := BodyList{Revision: r.Uint()}
	n := r.Uint()
	if n > 1<<32-1 {
		r.Fail()
	}
	l.Number = uint32(n)
	return l
}

func readLength(r *Reader) int64 {
	n := r.Uint()
	if n > 1<<63-1 {
		r.Fail()
		return 0
	}
	return int64(n)
}

func readUint32(r *Reader) uint32 {
	b := r.Fixed(4)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

// The two kinds of extent. Part of the store's format.
const (
	extentData    = 0
	extentSegment = 1
)

// Extent is a piece of a body: bytes of its own, or a segment file.
type Extent struct {
	// Length in bytes, at least 1.
	Length int64
	// Segment says that the bytes are those of the file SegmentID; else they are
	// Data, with the CRC-32C Sum. Data aliases the value that was decoded.
	Segment   bool
	SegmentID [segmentIDLen]byte
	Data      []byte
	Sum       uint32
}

// AppendExtent appends the encoding of e.
func AppendExtent(dst []byte, e Extent) []byte {
	dst = append(dst, extentVersion)
	if e.Segment {
		dst = append(dst, extentSegment)
		dst = AppendUint(dst, uint64(e.Length))
		return append(dst, e.SegmentID[:]...)
	}
	dst = append(dst, extentData)
	dst = binary.BigEndian.AppendUint32(dst, e.Sum)
	return append(dst, e.Data...)
}

// DecodeExtent reads what AppendExtent wrote.
func DecodeExtent(value []byte) (Extent, error) {
	_, r := NewReader(value, extentVersion)
	var e Extent
	switch r.Byte() {
	case extentData:
		e.Sum = readUint32(&r)
		e.Data = r.Fixed(r.Len())
		e.Length = int64(len(e.Data))
	case extentSegment:
		e.Segment = true
		e.Length = readLength(&r)
		copy(e.SegmentID[:], r.Fixed(segmentIDLen))
	default:
		r.Fail()
	}
	if e.Length == 0 {
		r.Fail()
	}
	if err := r.Done(); err != nil {
		return Extent{}, err
	}
	return e, nil
}

// List is where an extent list begins: 0, or the byte of the body at which it
// left another list.
type List struct {
	Start int64
	// Hash is the state after the first Start bytes of the body.
	Hash HashState
}

// AppendList appends the encoding of l.
func AppendList(dst []byte, l List) []byte {
	return appendHashState(AppendUint(append(dst, listVersion), uint64(l.Start)), l.Hash)
}

// DecodeList reads what AppendList wrote.
func DecodeList(value []byte) (List, error) {
	_, r := NewReader(value, listVersion)
	l := List{Start: readLength(&r)}
	l.Hash = readHashState(&r, l.Start)
	if err := r.Done(); err != nil {
		return List{}, err
	}
	return l, nil
}

// Segment is a published file: how many bytes of a body it holds, and the
// extent that owns it.
type Segment struct {
	Length int64
	List   BodyList
	End    int64
}

// AppendSegment appends the encoding of s.
func AppendSegment(dst []byte, s Segment) []byte {
	dst = AppendUint(append(dst, segmentVersion), uint64(s.Length))
	dst = AppendUint(AppendUint(dst, s.List.Revision), uint64(s.List.Number))
	return AppendUint(dst, uint64(s.End))
}

// DecodeSegment reads what AppendSegment wrote.
func DecodeSegment(value []byte) (Segment, error) {
	_, r := NewReader(value, segmentVersion)
	s := Segment{Length: readLength(&r), List: readBodyList(&r), End: readLength(&r)}
	if err := r.Done(); err != nil {
		return Segment{}, err
	}
	return s, nil
}

// BodyRef is a reference to the first bytes of a body.
type BodyRef struct {
	// SHA256 is the digest of the bytes up to the reference's end.
	SHA256 [sha256.Size]byte
}

// AppendBodyRef appends the encoding of r.
func AppendBodyRef(dst []byte, r BodyRef) []byte {
	return append(append(dst, bodyRefVersion), r.SHA256[:]...)
}

// DecodeBodyRef reads what AppendBodyRef wrote.
func DecodeBodyRef(value []byte) (ref BodyRef, err error) {
	_, r := NewReader(value, bodyRefVersion)
	copy(ref.SHA256[:], r.Fixed(sha256.Size))
	if err := r.Done(); err != nil {
		return BodyRef{}, err
	}
	return ref, nil
}

// Staging is an upload that is not published.
type Staging struct {
	// AtMillis is when it began, by the store's clock.
	AtMillis int64
}

// AppendStaging appends the encoding of s.
func AppendStaging(dst []byte, s Staging) []byte {
	return AppendInt(append(dst, stagingVersion), s.AtMillis)
}

// DecodeStaging reads what AppendStaging wrote.
func DecodeStaging(value []byte) (Staging, error) {
	_, r := NewReader(value, stagingVersion)
	s := Staging{AtMillis: r.Int()}
	if err := r.Done(); err != nil {
		return Staging{}, err
	}
	return s, nil
}

// Loose is a row of the queues of loose lists and loose files: its key says
// everything.
type Loose struct{}

// AppendLooseList appends the encoding of l.
func AppendLooseList(dst []byte, _ Loose) []byte { return append(dst, looseListVersion) }

// DecodeLooseList reads what AppendLooseList wrote.
func DecodeLooseList(value []byte) (Loose, error) {
	_, r := NewReader(value, looseListVersion)
	return Loose{}, r.Done()
}

// AppendLooseFile appends the encoding of l.
func AppendLooseFile(dst []byte, _ Loose) []byte { return append(dst, looseFileVersion) }

// DecodeLooseFile reads what AppendLooseFile wrote.
func DecodeLooseFile(value []byte) (Loose, error) {
	_, r := NewReader(value, looseFileVersion)
	return Loose{}, r.Done()
}
