package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
)

var ctx = context.Background()

func testKey(first byte) []byte { return bytes.Repeat([]byte{first}, KeySize) }

func newSealer(t *testing.T, first byte) *Sealer {
	t.Helper()
	s, err := New(testKey(first))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// SEAL-4.
func TestOpensWhatWasSealedAndNothingElse(t *testing.T) {
	s := newSealer(t, 1)
	plain, place := []byte("a secret"), []byte("record 7, field token")
	sealed := s.Seal([]byte("before"), plain, place)
	if !bytes.HasPrefix(sealed, []byte("before")) {
		t.Fatal("Seal does not append")
	}
	sealed = sealed[len("before"):]
	if len(sealed) != len(plain)+Overhead {
		t.Errorf("%d bytes became %d, Overhead is %d", len(plain), len(sealed), Overhead)
	}
	if bytes.Contains(sealed, plain) {
		t.Error("the plaintext shows")
	}
	if got, err := s.Open([]byte("x"), sealed, place); err != nil || string(got) != "xa secret" {
		t.Errorf("Open gave %q, %v", got, err)
	}
	if again := s.Seal(nil, plain, place); bytes.Equal(again, sealed) {
		t.Error("sealing twice gives the same bytes: the nonce repeats")
	}
	if got, err := s.Open(nil, sealed, []byte("record 8, field token")); !errors.Is(err, ErrSealed) {
		t.Errorf("opened in another context: %q, %v", got, err)
	}
	if got, err := newSealer(t, 2).Open(nil, sealed, place); !errors.Is(err, ErrForeignKey) {
		t.Errorf("opened with another key: %q, %v", got, err)
	}
	for i := range sealed {
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		if got, err := s.Open(nil, damaged, place); err == nil {
			t.Errorf("opened with byte %d changed: %q", i, got)
		}
	}
	for n := range sealed {
		if got, err := s.Open(nil, sealed[:n], place); err == nil {
			t.Errorf("opened when cut to %d bytes: %q", n, got)
		}
	}
}

func TestSealsEmpty(t *testing.T) {
	s := newSealer(t, 1)
	if got, err := s.Open(nil, s.Seal(nil, nil, nil), nil); err != nil || len(got) != 0 {
		t.Errorf("got %q, %v", got, err)
	}
}

// A value sealed by an earlier version opens for good: the layout is part of
// the store's format.
func TestOldSealedValueOpens(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "v1", "sealed.hex"))
	if err != nil {
		t.Fatal(err)
	}
	var sealed []byte
	if _, err := fmt.Sscanf(strings.TrimSpace(string(text)), "%x", &sealed); err != nil {
		t.Fatal(err)
	}
	if got, err := newSealer(t, 1).Open(nil, sealed, []byte("golden")); err != nil || string(got) != "sealed for good" {
		t.Errorf("got %q, %v", got, err)
	}
}

// SEAL-5.
func TestKeyIsNeverPrinted(t *testing.T) {
	s := newSealer(t, 0x5A)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "sealer", s)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "sealer", s)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if got, want := fmt.Sprintf(verb, s), "seal.Sealer("+s.KeyID().String()+")"; got != want {
			t.Errorf("%s prints %s", verb, got)
		}
	}
	for _, shape := range []string{"5a5a5a5a", "90 90 90 90", "90,90,90", "WlpaWlpa"} {
		if strings.Contains(log.String(), shape) {
			t.Errorf("the log has the key: %s", log.String())
		}
	}
	if _, err := New([]byte("short secret")); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("New with a short key: %v", err)
	}
}

func sysRoot(e *kvtest.Env) kv.Root { return e.Root("system", "seal") }

// SEAL-1, SEAL-3.
func TestKeyIsMintedOnce(t *testing.T) {
	e := kvtest.New(t)
	file := func() KeyFile { return NewKeyFile(e.Options.FS, "data/seal.key") }
	first, err := Open(ctx, e.Store, sysRoot(e), file())
	if err != nil {
		t.Fatal(err)
	}
	sealed := first.Seal(nil, []byte("kept"), nil)
	for i := range 3 {
		e.Crash(uint64(i))
		s, err := Open(ctx, e.Store, sysRoot(e), file())
		if err != nil {
			t.Fatalf("after crash %d: %v", i, err)
		}
		if got, err := s.Open(nil, sealed, nil); err != nil || string(got) != "kept" {
			t.Fatalf("after crash %d: %q, %v", i, got, err)
		}
	}
	if err := e.Options.FS.Remove("data/seal.key"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, e.Store, sysRoot(e), file()); !errors.Is(err, ErrKey) {
		t.Errorf("with the file lost: %v", err)
	}
	if err := file().store(testKey(9)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, e.Store, sysRoot(e), file()); !errors.Is(err, ErrKey) {
		t.Errorf("with another file: %v", err)
	}
}

// SEAL-1 when the first start does not get to its end: whether an operation
// fails or the power does, the next start works, and what a start has sealed
// opens for good.
func TestFirstStartFailsAnywhere(t *testing.T) {
	for n := 0; ; n++ {
		base := kvtest.NewCrashFS()
		count, hit := 0, false
		var left kv.FS
		failing := kvtest.Intercept(base, func(kvtest.FileOp) error {
			if count++; count-1 != n {
				return nil
			}
			hit = true
			left = kvtest.CrashClone(base, uint64(n))
			return errors.New("injected")
		})
		e := kvtest.New(t)
		sealed := []byte(nil)
		// The store itself is sound; only the key's file system is not.
		s, err := Open(ctx, e.Store, sysRoot(e), NewKeyFile(failing, "seal.key"))
		if err == nil {
			sealed = s.Seal(nil, []byte("kept"), nil)
		}
		if err == nil == hit {
			t.Fatalf("operation %d failed: %v; Open says %v", n, hit, err)
		}
		if !hit {
			if got, err := s.Open(nil, sealed, nil); err != nil || string(got) != "kept" {
				t.Fatal(err)
			}
			if n < 5 {
				t.Errorf("only %d operations", n)
			}
			return
		}
		for what, fs := range map[string]kv.FS{"the process goes on": base, "the power was cut": left} {
			again := kvtest.New(t)
			first, err := Open(ctx, again.Store, sysRoot(again), NewKeyFile(fs, "seal.key"))
			if err != nil {
				t.Fatalf("operation %d failed, %s: %v", n, what, err)
			}
			second, err := Open(ctx, again.Store, sysRoot(again), NewKeyFile(fs, "seal.key"))
			if err != nil || second.KeyID() != first.KeyID() {
				t.Fatalf("operation %d failed, %s: another key at the next start, %v", n, what, err)
			}
		}
	}
}

// A file that the store does not know yet is what an interrupted start leaves.
func TestFirstStartInterrupted(t *testing.T) {
	e := kvtest.New(t)
	file := NewKeyFile(e.Options.FS, "data/seal.key")
	// The file is there, the store does not know it yet.
	if err := file.store(testKey(3)); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, e.Store, sysRoot(e), file)
	if err != nil {
		t.Fatal(err)
	}
	if s.KeyID() != idOf(testKey(3)) {
		t.Error("a second key was minted over the first")
	}
}

func TestDamagedKeyFile(t *testing.T) {
	e := kvtest.New(t)
	for _, text := range []string{"", "nonsense", keyLine, keyLine + "5a5a", keyLine + strings.Repeat("zz", KeySize), "sawhorse-seal-key-v2:" + strings.Repeat("00", KeySize)} {
		f, err := e.Options.FS.Create("data/seal.key", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := finish(f, []byte(text)); err != nil {
			t.Fatal(err)
		}
		_, err = Open(ctx, e.Store, sysRoot(e), NewKeyFile(e.Options.FS, "data/seal.key"))
		if err == nil || strings.Contains(err.Error(), "5a5a") || strings.Contains(err.Error(), "zz") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// SEAL-2, on a real file system.
func TestKeyFilePermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seal.key")
	file := NewKeyFile(nil, path)
	if _, err := file.load(); !errors.Is(err, errNoKey) {
		t.Fatalf("no file: %v", err)
	}
	// What an interrupted start left, open to everybody, is not used.
	if err := os.WriteFile(path+".new", []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	key := mint()
	if err := file.store(key); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != fileMode {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	if got, err := file.load(); err != nil || !bytes.Equal(got, key) {
		t.Fatalf("round trip: %v", err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o602} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := file.load(); err == nil {
			t.Errorf("a file of mode %#o was used", mode)
		}
	}
	if another := mint(); bytes.Equal(another, key) {
		t.Error("two keys are equal")
	}
}

func FuzzOpen(f *testing.F) {
	s, err := New(testKey(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.Seal(nil, []byte("x"), []byte("c")), []byte("c"))
	f.Add([]byte{1, 2, 3}, []byte{})
	f.Fuzz(func(t *testing.T, sealed, context []byte) {
		if plain, err := s.Open(nil, sealed, context); err == nil && string(plain) != "x" {
			t.Fatalf("forged: %x in %q opens as %q", sealed, context, plain)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	s, err := New(testKey(1))
	if err != nil {
		b.Fatal(err)
	}
	plain, dst := make([]byte, 256), make([]byte, 0, 512)
	b.ReportAllocs()
	b.SetBytes(256)
	for b.Loop() {
		s.Seal(dst, plain, plain[:32])
	}
}
