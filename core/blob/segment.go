package blob

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"syscall"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// A segment file is a sequence of frames: a chunk of the body, then its sum.
// Every chunk but the last is ChunkSize long. The sum is the CRC-32C of the
// segment's id, the chunk's number (8 bytes) and the chunk, big-endian; so a
// chunk that is intact but lies in another place does not pass. Part of the
// store's format.
const (
	// ChunkSize is how many bytes one checksum covers, and so the least that a
	// read of one byte reads.
	ChunkSize = 64 << 10
	sumSize   = 4
	frameSize = ChunkSize + sumSize
)

// batchFrames is how many frames one read or write of a file moves at most.
const batchFrames = 4

// batchBuffers holds buffers for batchFrames frames. Each body in flight uses
// one (BLOB-4).
var batchBuffers = sync.Pool{New: func() any { return new([batchFrames * frameSize]byte) }}

// fileLen is the length of the file of a segment with n bytes.
func fileLen(n int64) int64 {
	return n + (n+ChunkSize-1)/ChunkSize*sumSize
}

// chunkSums computes the sums of one segment's chunks.
type chunkSums struct {
	// seed is the sum of the segment's id.
	seed uint32
	// number is memory for a chunk's number, kept so that no chunk allocates any.
	number [8]byte
}

func sumsOf(id keys.SegmentID) chunkSums {
	return chunkSums{seed: crc32.Checksum(id[:], castagnoli)}
}

func (c *chunkSums) sum(number uint64, chunk []byte) uint32 {
	binary.BigEndian.PutUint64(c.number[:], number)
	return crc32.Update(crc32.Update(c.seed, castagnoli, c.number[:]), castagnoli, chunk)
}

const segmentSuffix = ".seg"

func segmentName(id keys.SegmentID) string { return hex.EncodeToString(id[:]) + segmentSuffix }

// parseSegmentName is the inverse of segmentName; other names are not ours.
func parseSegmentName(name string) (id keys.SegmentID, ok bool) {
	if len(name) != 2*len(id)+len(segmentSuffix) || name[2*len(id):] != segmentSuffix {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(name[:2*len(id)]))
	return id, err == nil && segmentName(id) == name
}

// File is what this package needs of an open file.
type file interface {
	io.ReaderAt
	io.WriteCloser
	Sync() error
	SyncTo(length int64) (bool, error)
}

// segmentWriter writes one segment file, front to back.
type segmentWriter struct {
	file file
	sums chunkSums
	buf  *[batchFrames * frameSize]byte
	// used bytes of buf are filled; the chunk that is being filled began at
	// chunkAt.
	used, chunkAt int
	number        uint64 // of that chunk
	written       int64  // bytes of the file
	flushedTo     int64  // the file up to here was asked to go to the disk
	probe         func() error
}

// syncEvery is how much of a file may wait in memory before the system is asked
// to write it out: else the sync at the end of a large upload would take long.
const syncEvery = 8 << 20

func newSegmentWriter(f file, id keys.SegmentID, probe func() error) *segmentWriter {
	return &segmentWriter{file: f, sums: sumsOf(id), buf: batchBuffers.Get().(*[batchFrames * frameSize]byte), probe: probe}
}

func (w *segmentWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		room := w.chunkAt + ChunkSize - w.used
		take := min(room, len(p))
		copy(w.buf[w.used:], p[:take])
		w.used += take
		n += take
		p = p[take:]
		if take == room {
			if err := w.endChunk(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (w *segmentWriter) endChunk() error {
	sum := w.sums.sum(w.number, w.buf[w.chunkAt:w.used])
	binary.BigEndian.PutUint32(w.buf[w.used:], sum)
	w.used += sumSize
	w.chunkAt = w.used
	w.number++
	if w.used == len(w.buf) {
		return w.flush()
	}
	return nil
}

func (w *segmentWriter) flush() error {
	if w.used == 0 {
		return nil
	}
	// The file may change the buffer while it writes; nothing in it is needed
	// afterwards.
	n, err := w.file.Write(w.buf[:w.used])
	w.written += int64(n)
	if err == nil && n < w.used {
		err = io.ErrShortWrite
	}
	w.used, w.chunkAt = 0, 0
	if err != nil {
		return noSpace(err)
	}
	if w.written-w.flushedTo >= syncEvery {
		w.flushedTo = w.written
		if _, err := w.file.SyncTo(w.written); err != nil {
			return noSpace(err)
		}
		return w.probe()
	}
	return nil
}

// finish writes what is left and makes the file durable; its name in the
// directory is not. It closes the file in any case.
func (w *segmentWriter) finish() error {
	err := func() error {
		if w.used > w.chunkAt {
			if err := w.endChunk(); err != nil {
				return err
			}
		}
		if err := w.flush(); err != nil {
			return err
		}
		return noSpace(w.file.Sync())
	}()
	return errors.Join(err, w.close())
}

func (w *segmentWriter) close() error {
	if w.buf != nil {
		batchBuffers.Put(w.buf)
		w.buf = nil
	}
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return noSpace(f.Close())
}

// noSpace gives an error that says the disk is full its reason.
func noSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.New(op.ReasonResourceExhausted, "").Because(err)
	}
	return err
}

// segmentReader reads an open segment file.
type segmentReader struct {
	file   file
	id     keys.SegmentID
	sums   chunkSums
	length int64 // bytes of the body in the file
	buf    *[batchFrames * frameSize]byte
}

// openSegment opens the file of a segment that holds length bytes. buf is the
// caller's and not used by anybody else meanwhile.
func openSegment(fs kv.FS, path string, id keys.SegmentID, length int64, buf *[batchFrames * frameSize]byte) (*segmentReader, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("blob: opening a segment: %w", err)
	}
	return &segmentReader{file: f, id: id, sums: sumsOf(id), length: length, buf: buf}, nil
}

func (r *segmentReader) close() error { return r.file.Close() }

// read calls sink with the bytes [off, end) of the segment, in pieces that are
// valid until sink returns. Every piece was checked before (BLOB-1).
func (r *segmentReader) read(off, end int64, sink func([]byte) error) error {
	for off < end {
		first := off / ChunkSize
		count := min((end-1)/ChunkSize-first+1, batchFrames)
		// Bytes of the segment that the batch holds: [first chunk, have).
		have := min((first+count)*ChunkSize, r.length)
		frames := r.buf[:have-first*ChunkSize+count*sumSize]
		if _, err := r.file.ReadAt(frames, first*frameSize); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return corrupt("segment %x is shorter than %d bytes", r.id, fileLen(r.length))
			}
			return fmt.Errorf("blob: reading a segment: %w", err)
		}
		for i := range count {
			at := (first + i) * ChunkSize
			n := min(ChunkSize, r.length-at)
			chunk, sum := frames[i*frameSize:][:n], frames[i*frameSize+n:][:sumSize]
			if r.sums.sum(uint64(first+i), chunk) != binary.BigEndian.Uint32(sum) {
				return corrupt("chunk %d of segment %x has a wrong checksum", first+i, r.id)
			}
			if err := sink(chunk[max(off-at, 0):min(end-at, n)]); err != nil {
				return err
			}
		}
		off = have
	}
	return nil
}
