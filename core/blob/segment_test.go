package blob

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// memFile is a file in memory. It may spoil the buffer that it is given, as the
// file system's contract allows.
type memFile struct {
	bytes []byte
	fail  error
}

func (f *memFile) Write(p []byte) (int, error) {
	if f.fail != nil {
		return 0, f.fail
	}
	f.bytes = append(f.bytes, p...)
	clear(p)
	return len(p), nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.bytes).ReadAt(p, off)
}

func (f *memFile) Sync() error                { return f.fail }
func (f *memFile) SyncTo(int64) (bool, error) { return false, f.fail }
func (f *memFile) Close() error               { return nil }

var segmentID = keys.SegmentID{1, 15: 9}

func writeSegment(t testing.TB, id keys.SegmentID, pieces ...[]byte) *memFile {
	t.Helper()
	f := &memFile{}
	w := newSegmentWriter(f, id, func() error { return nil })
	for _, p := range pieces {
		if n, err := w.Write(p); n != len(p) || err != nil {
			t.Fatalf("Write: %d, %v", n, err)
		}
	}
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	return f
}

func readSegment(f *memFile, id keys.SegmentID, length, off, end int64) (got []byte, err error) {
	r := &segmentReader{file: f, id: id, sums: sumsOf(id), length: length, buf: new([batchFrames * frameSize]byte)}
	err = r.read(off, end, func(p []byte) error {
		if len(p) == 0 || len(p) > ChunkSize {
			return fmt.Errorf("a piece of %d bytes", len(p))
		}
		got = append(got, p...)
		return nil
	})
	return got, err
}

func TestSegmentRoundTrip(t *testing.T) {
	const batch = batchFrames * ChunkSize
	for _, n := range []int{1, ChunkSize - 1, ChunkSize, ChunkSize + 1, 2 * ChunkSize, batch - 1, batch, batch + 1, 3*batch + 77} {
		data := pattern(n, n)
		var pieces [][]byte
		for rest, size := data, 1; len(rest) > 0; size = size*3 + 1 {
			k := min(size, len(rest))
			pieces = append(pieces, rest[:k])
			rest = rest[k:]
		}
		f := writeSegment(t, segmentID, pieces...)
		if int64(len(f.bytes)) != fileLen(int64(n)) {
			t.Errorf("%d bytes: the file has %d, fileLen says %d", n, len(f.bytes), fileLen(int64(n)))
		}
		length := int64(n)
		edges := []int64{0, 1, ChunkSize - 1, ChunkSize, ChunkSize + 1, batch, batch + 1, length / 2, length - 1, length}
		for _, off := range edges {
			for _, end := range edges {
				if off > end || end > length || off < 0 {
					continue
				}
				got, err := readSegment(f, segmentID, length, off, end)
				if err != nil || !bytes.Equal(got, data[off:end]) {
					t.Errorf("%d bytes: [%d, %d) gave %d bytes, %v", n, off, end, len(got), err)
				}
			}
		}
	}
}

// BLOB-1: no byte of a damaged chunk is handed on.
func TestSegmentDamageIsFound(t *testing.T) {
	const n = 2*ChunkSize + 100
	data := pattern(3, n)
	clean := writeSegment(t, segmentID, data)
	for _, at := range []int{0, 1, ChunkSize - 1, ChunkSize, ChunkSize + sumSize - 1, frameSize, 2 * frameSize, len(clean.bytes) - 1} {
		damaged := &memFile{bytes: bytes.Clone(clean.bytes)}
		damaged.bytes[at] ^= 0x10
		got, err := readSegment(damaged, segmentID, n, 0, n)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d changed: %v", at, err)
		}
		if want := at / frameSize * ChunkSize; len(got) != want || !bytes.Equal(got, data[:want]) {
			t.Errorf("byte %d changed: %d bytes were handed on, want those of the chunks before, %d", at, len(got), want)
		}
	}
	for _, cut := range []int{0, 1, frameSize, len(clean.bytes) - 1} {
		if _, err := readSegment(&memFile{bytes: clean.bytes[:cut]}, segmentID, n, 0, n); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", cut, err)
		}
	}
	if _, err := readSegment(clean, keys.SegmentID{2}, n, 0, n); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another segment's file: %v", err)
	}
	swapped := &memFile{bytes: bytes.Clone(clean.bytes)}
	copy(swapped.bytes, clean.bytes[frameSize:2*frameSize])
	copy(swapped.bytes[frameSize:], clean.bytes[:frameSize])
	if _, err := readSegment(swapped, segmentID, n, 0, n); !errors.Is(err, ErrCorrupt) {
		t.Errorf("two intact chunks in each other's place: %v", err)
	}
}

func TestFullDiskHasItsReason(t *testing.T) {
	f := &memFile{fail: fmt.Errorf("write: %w", syscall.ENOSPC)}
	w := newSegmentWriter(f, segmentID, func() error { return nil })
	_, err := w.Write(make([]byte, batchFrames*ChunkSize))
	if !fault.Is(err, op.ReasonResourceExhausted) {
		t.Errorf("Write: %v", err)
	}
	if err := w.finish(); !fault.Is(err, op.ReasonResourceExhausted) {
		t.Errorf("finish: %v", err)
	}
}

// A segment written today, with a sum computed by hand, reads with every later version.
func TestOldSegmentReads(t *testing.T) {
	golden := []byte("hello\x9c\xc3\xc6\xf0")
	f := writeSegment(t, segmentID, []byte("hello"))
	if !bytes.Equal(f.bytes, golden) {
		t.Errorf("the file is %q", f.bytes)
	}
	if got, err := readSegment(&memFile{bytes: golden}, segmentID, 5, 0, 5); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestSegmentNames(t *testing.T) {
	name := segmentName(segmentID)
	if got, ok := parseSegmentName(name); !ok || got != segmentID {
		t.Errorf("%s is read as %x, %v", name, got, ok)
	}
	for _, bad := range []string{"", "x", name + "x", name[1:], "A" + name[1:], name[:32] + ".tmp", "g" + name[1:]} {
		if _, ok := parseSegmentName(bad); ok {
			t.Errorf("%q passes for a segment", bad)
		}
	}
}

func FuzzSegmentRead(f *testing.F) {
	f.Add([]byte("hello\x9c\xc3\xc6\xf0"), int64(5), int64(0), int64(5))
	f.Add(make([]byte, frameSize+9), int64(ChunkSize+5), int64(ChunkSize), int64(ChunkSize+5))
	f.Fuzz(func(t *testing.T, file []byte, length, off, end int64) {
		if length < 1 || length > 1<<20 || off < 0 || end > length || off > end {
			return
		}
		got, err := readSegment(&memFile{bytes: file}, segmentID, length, off, end)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		if err == nil && int64(len(got)) != end-off {
			t.Fatalf("%d bytes of [%d, %d)", len(got), off, end)
		}
	})
}

func BenchmarkSegmentRead(b *testing.B) {
	const n = 8 << 20
	f := writeSegment(b, segmentID, pattern(1, n))
	for _, size := range []int64{1 << 10, 64 << 10, n} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			r := &segmentReader{file: f, id: segmentID, sums: sumsOf(segmentID), length: n, buf: new([batchFrames * frameSize]byte)}
			b.SetBytes(size)
			b.ReportAllocs()
			off := int64(0)
			for b.Loop() {
				if err := r.read(off, off+size, func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
				if off += size; off+size > n {
					off = 0
				}
			}
		})
	}
}
