package blob

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"sync"

	"github.com/sawhorse-dev/sawhorse/core/record"
)

// castagnoli is the polynomial of every checksum in this package (CRC-32C).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// hasher is a SHA-256 that can stop and go on later. It is not safe for
// concurrent use.
type hasher struct {
	hash.Hash
	// n is how many bytes were hashed.
	n int64
	// buf holds a state in the library's form.
	buf []byte
}

var hashers = sync.Pool{New: func() any { return &hasher{Hash: sha256.New()} }}

// newHasher returns a hasher that has seen nothing. free gives it back.
func newHasher() *hasher {
	h := hashers.Get().(*hasher)
	h.Reset()
	h.n = 0
	return h
}

func (h *hasher) free() { hashers.Put(h) }

func (h *hasher) Write(p []byte) (int, error) {
	h.n += int64(len(p))
	return h.Hash.Write(p)
}

// digest returns the sum of what was hashed; hashing can go on.
func (h *hasher) digest() (sum [sha256.Size]byte) {
	h.Sum(sum[:0])
	return sum
}

// The library's form of a state: a magic word, the chaining value, the
// unfinished block filled up with zeros, the number of bytes hashed. A test
// holds this package to it.
const (
	stateMagic  = "sha\x03"
	blockOffset = len(stateMagic) + sha256.Size
	countOffset = blockOffset + sha256.BlockSize
	stateLen    = countOffset + 8
)

// state returns the state, in memory of its own.
func (h *hasher) state() (record.HashState, error) {
	var err error
	h.buf, err = h.Hash.(encoding.BinaryAppender).AppendBinary(h.buf[:0])
	if err != nil || len(h.buf) != stateLen || string(h.buf[:len(stateMagic)]) != stateMagic {
		return record.HashState{}, fmt.Errorf("blob: the library's SHA-256 state is of another form: %d bytes, %v", len(h.buf), err)
	}
	var s record.HashState
	copy(s.Chain[:], h.buf[len(stateMagic):])
	if rest := int(h.n % sha256.BlockSize); rest > 0 {
		s.Rest = append([]byte(nil), h.buf[blockOffset:blockOffset+rest]...)
	}
	return s, nil
}

// resume makes h go on from a state after n bytes.
func (h *hasher) resume(s record.HashState, n int64) error {
	if int64(len(s.Rest)) != n%sha256.BlockSize {
		return corrupt("a hash state after %d bytes has %d of the unfinished block", n, len(s.Rest))
	}
	buf := append(h.buf[:0], stateMagic...)
	buf = append(buf, s.Chain[:]...)
	buf = append(buf, s.Rest...)
	buf = append(buf, make([]byte, countOffset-len(buf))...)
	h.buf = binary.BigEndian.AppendUint64(buf, uint64(n))
	h.n = n
	return h.Hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(h.buf)
}

// resumeAtSpans makes h go on from where a body's lists end.
func (h *hasher) resumeAtSpans(b *record.Body) error {
	if len(b.Spans) == 0 {
		h.Reset()
		h.n = 0
		return nil
	}
	return h.resume(b.Hash, b.Spanned())
}
