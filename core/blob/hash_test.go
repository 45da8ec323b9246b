package blob

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/record"
)

// pattern returns n bytes that differ from place to place.
func pattern(seed, n int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// A hash that stops anywhere and goes on gives the digest of the whole.
func TestHashGoesOn(t *testing.T) {
	data := pattern(1, 300)
	want := sha256.Sum256(data)
	for cut := range len(data) + 1 {
		h := newHasher()
		h.Write(data[:cut])
		state, err := h.state()
		if err != nil {
			t.Fatal(err)
		}
		if len(state.Rest) != cut%sha256.BlockSize {
			t.Fatalf("after %d bytes the state keeps %d", cut, len(state.Rest))
		}
		h.free()
		h = newHasher()
		h.Write([]byte("something else"))
		if err := h.resume(state, int64(cut)); err != nil {
			t.Fatal(err)
		}
		if got := h.digest(); got != sha256.Sum256(data[:cut]) {
			t.Fatalf("after %d bytes the digest is another", cut)
		}
		h.Write(data[cut:])
		if got := h.digest(); got != want || h.n != int64(len(data)) {
			t.Fatalf("stopped after %d bytes: another digest", cut)
		}
		h.free()
	}
}

// The state at rest is our own; this one, computed by hand, is what a store written today holds, and
// must resume with every version of the library.
func TestOldHashStateGoesOn(t *testing.T) {
	chain, err := hex.DecodeString("8b32cd46d0772d44e4158e19ed1472e235a42a1836eccee0e292295b85adffde")
	if err != nil {
		t.Fatal(err)
	}
	h := newHasher()
	defer h.free()
	h.Write(bytes.Repeat([]byte("x"), 70))
	state, err := h.state()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(state.Chain[:], chain) || string(state.Rest) != "xxxxxx" {
		t.Errorf("the state after 70 bytes is %x and %q", state.Chain, state.Rest)
	}
}

func TestHashRefusesAStateThatCannotBe(t *testing.T) {
	h := newHasher()
	defer h.free()
	if err := h.resume(record.HashState{Rest: []byte("abc")}, 64); err == nil {
		t.Error("three bytes of an unfinished block after one full block")
	}
}
