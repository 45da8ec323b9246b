package kv

import (
	"io"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/clock"
)

// FS is the file system under a store. core/blob keeps its files on the same
// one, so that one crash of a test's file system covers both.
type FS = vfs.FS

// Limits of what one Update may carry. They are those of the smallest backend
// that the storage interface is meant for.
const (
	MaxValueBytes  = 100 << 10
	MaxUpdateBytes = 1 << 20
)

// Options say how to open a store. The zero value of a field means its default.
type Options struct {
	// FS holds the files; nil means the machine's disk.
	FS FS
	// Dir is the data directory. The store keeps its files in Dir/kv.
	Dir string
	// Clock defaults to the machine's.
	Clock clock.Clock
	// IDs is where ids come from; nil means crypto/rand. A test passes a seeded
	// source.
	IDs io.Reader
	// HistoryWindow is how long a superseded version stays readable; 0 means
	// DefaultHistoryWindow, a negative one means no time at all.
	HistoryWindow time.Duration
	// QueueDepth is how many updates may wait for their turn; 0 means 1024.
	QueueDepth int
	// FreeSpaceFloorBytes refuses updates while the disk has less than this free;
	// 0 means DefaultFreeSpaceFloorBytes, a negative one means no floor.
	FreeSpaceFloorBytes int64
	// BallastBytes is the size of a file that is there only to be deleted when
	// the disk fills up; 0 means DefaultBallastBytes, a negative one means none.
	BallastBytes int64
	// Logger is for what happens in the background; nil drops it.
	Logger *slog.Logger
	// Fatal is called when the write-ahead log failed; it should end the process,
	// and the default does, with status 3. When it returns, the store is dead:
	// every later call fails, and no call that waits is answered with success.
	Fatal func(error)
	// NoBackground starts no goroutine of the store's own; a test then calls Reap.
	NoBackground bool
	// CacheBytes is the size of the block cache, out of which recent writes are
	// kept too: it must hold a few times MemTableBytes, or every read of a filter
	// goes to the disk. 0 means 96 MiB.
	CacheBytes int64
	// MemTableBytes is when recent writes go from memory into a table; 0 means
	// 32 MiB. Tests make it small.
	MemTableBytes int64
}

// Defaults of Options.
const (
	DefaultHistoryWindow       = 6 * time.Minute
	DefaultFreeSpaceFloorBytes = 128 << 20
	DefaultBallastBytes        = 32 << 20
)
