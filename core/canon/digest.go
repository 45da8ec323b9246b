package canon

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
)

// DigestScheme begins every digest URI.
const DigestScheme = "sha256:"

// Digest is a SHA-256 sum.
type Digest [sha256.Size]byte

// Sum returns the digest of b.
func Sum(b []byte) Digest { return sha256.Sum256(b) }

// URI returns the digest as clients see it: the scheme and 64 lower-case hex
// digits.
func (d Digest) URI() string { return string(d.AppendURI(nil)) }

// AppendURI appends the text of URI to dst.
func (d Digest) AppendURI(dst []byte) []byte {
	return hex.AppendEncode(append(dst, DigestScheme...), d[:])
}

// ErrDigestURI says that a text is not a digest URI.
var ErrDigestURI = errors.New("canon: not a sha256 digest URI")

// ParseDigestURI is the inverse of URI. It accepts that one spelling alone:
// upper-case digits, spaces or another length give ErrDigestURI.
func ParseDigestURI(uri string) (Digest, error) {
	var d Digest
	if len(uri) != len(DigestScheme)+2*len(d) || uri[:len(DigestScheme)] != DigestScheme {
		return d, ErrDigestURI
	}
	for _, c := range []byte(uri[len(DigestScheme):]) {
		if !isDigit(c) && (c < 'a' || c > 'f') {
			return d, ErrDigestURI
		}
	}
	if _, err := hex.Decode(d[:], []byte(uri[len(DigestScheme):])); err != nil {
		return Digest{}, ErrDigestURI
	}
	return d, nil
}

// Identity hashes a sequence of pieces under a domain, so that neither two
// domains nor two ways to cut the same bytes can meet in one sum: the domain
// with a NUL, then every piece behind its length as 8 big-endian bytes.
type Identity struct{ h hash.Hash }

// NewIdentity begins a sum in the given domain, which must not contain NUL.
func NewIdentity(domain string) Identity {
	h := sha256.New()
	h.Write(append([]byte(domain), 0))
	return Identity{h}
}

// Text adds a piece and returns the same sum, for chaining.
func (id Identity) Text(s string) Identity { return id.Bytes([]byte(s)) }

// Bytes adds a piece and returns the same sum, for chaining.
func (id Identity) Bytes(b []byte) Identity {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(b)))
	id.h.Write(length[:])
	id.h.Write(b)
	return id
}

// Fixed adds bytes whose length the domain fixes, so without a length before
// them, and returns the same sum.
func (id Identity) Fixed(b []byte) Identity {
	id.h.Write(b)
	return id
}

// Sum returns the digest of what was added so far.
func (id Identity) Sum() Digest {
	var d Digest
	id.h.Sum(d[:0])
	return d
}
