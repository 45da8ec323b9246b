// Package recordtest keeps the goldens of records: every record of every
// version has a file of hexadecimal bytes that must decode forever (REC-1).
package recordtest

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update-goldens", false, "write goldens that do not exist yet; existing ones are never changed")

// Golden checks that value encodes to the bytes under testdata/v1/NAME.hex and
// that those bytes decode to value. An existing golden is never rewritten,
// whatever the flags: a format that changed gets a new version and a new name.
func Golden[T any](t *testing.T, name string, value T, encode func([]byte, T) []byte, decode func([]byte) (T, error), equal func(a, b T) bool) {
	t.Helper()
	path := filepath.Join("testdata", "v1", name+".hex")
	got := encode(nil, value)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(hex.EncodeToString(got)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatalf("golden of %s: %v (run with -update-goldens to write it)", name, err)
	}
	want, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("golden of %s: %v", name, err)
	}
	decoded, err := decode(want)
	if err != nil {
		t.Fatalf("REC-1: the golden of %s no longer decodes: %v", name, err)
	}
	if !equal(decoded, value) {
		t.Errorf("REC-1: the golden of %s decodes to %+v, want %+v", name, decoded, value)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("REC-1: %s encodes to %x, golden is %x", name, got, want)
	}
}

// Decoder runs what every decoder must bear, as the body of a fuzz target:
// malformed input gives an error and no panic (REC-2), and what decodes encodes
// to the same bytes (REC-3).
func Decoder[T any](t *testing.T, input []byte, encode func([]byte, T) []byte, decode func([]byte) (T, error)) {
	t.Helper()
	value, err := decode(input)
	if err != nil {
		return
	}
	if again := encode(nil, value); !bytes.Equal(again, input) {
		t.Errorf("REC-3: %x decodes, and encodes to %x", input, again)
	}
}
