package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// KeySize is the length of a key in bytes.
const KeySize = 32

// KeyID names a key without revealing it.
type KeyID [8]byte

// String returns the id in hexadecimal.
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

const keyIDDomain = "sawhorse.seal.key-id.v1\x00"

func idOf(key []byte) (id KeyID) {
	sum := sha256.Sum256(append([]byte(keyIDDomain), key...))
	copy(id[:], sum[:])
	return id
}

// Layout of a sealed value: version, key id, nonce, ciphertext, tag. The first
// two are authenticated with the context. Part of the store's format.
const (
	sealedVersion = 1
	headerLen     = 1 + len(KeyID{})
	// Overhead is how many bytes longer a sealed value is than its plaintext.
	Overhead = headerLen + 12 + 16
)

var (
	// ErrSealed says that a value cannot be opened: it was damaged, it was sealed
	// for another context, or it is no sealed value. Which of these stays unsaid.
	ErrSealed = errors.New("seal: value cannot be opened")
	// ErrForeignKey says that a value was sealed with a key that is not this one.
	ErrForeignKey = errors.New("seal: value was sealed with another key")
)

// Sealer seals and opens values with one key. It is safe for concurrent use.
type Sealer struct {
	id   KeyID
	aead cipher.AEAD
}

// New returns a sealer for a key of KeySize bytes, which it does not keep a
// reference to.
func New(key []byte) (*Sealer, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("seal: a key has %d bytes, not %d", KeySize, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	// The nonce is drawn inside and stored in front of the ciphertext, so no
	// caller can repeat one.
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return &Sealer{id: idOf(key), aead: aead}, nil
}

// KeyID returns the name of the sealer's key.
func (s *Sealer) KeyID() KeyID { return s.id }

// Seal appends plaintext in sealed form to dst. context is not stored: Open
// needs the same one. Two calls with the same arguments give different bytes.
func (s *Sealer) Seal(dst, plaintext, context []byte) []byte {
	dst = append(dst, sealedVersion)
	dst = append(dst, s.id[:]...)
	return s.aead.Seal(dst, nil, plaintext, s.authenticated(context))
}

// Open appends the plaintext of a sealed value to dst.
//
// Errors: ErrForeignKey, ErrSealed.
func (s *Sealer) Open(dst, sealed, context []byte) ([]byte, error) {
	if len(sealed) < Overhead || sealed[0] != sealedVersion {
		return nil, ErrSealed
	}
	if KeyID(sealed[1:headerLen]) != s.id {
		return nil, ErrForeignKey
	}
	plaintext, err := s.aead.Open(dst, nil, sealed[headerLen:], s.authenticated(context))
	if err != nil {
		return nil, ErrSealed
	}
	return plaintext, nil
}

// authenticated is what the tag covers beside the ciphertext. The header has a
// fixed length, so nothing can slide between it and the context.
func (s *Sealer) authenticated(context []byte) []byte {
	b := make([]byte, 0, headerLen+len(context))
	b = append(b, sealedVersion)
	b = append(b, s.id[:]...)
	return append(b, context...)
}

// Format prints the key's id whatever the verb: %#v would print the cipher's
// key schedule.
func (s *Sealer) Format(w fmt.State, _ rune) {
	io.WriteString(w, "seal.Sealer("+s.id.String()+")")
}

// mint draws a key from the system's random source, never from a seeded one.
func mint() []byte {
	key := make([]byte, KeySize)
	rand.Read(key) // never fails: the runtime ends the process first
	return key
}
