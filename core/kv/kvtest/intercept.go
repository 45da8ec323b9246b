package kvtest

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// FileOp is one operation on a file or a directory.
type FileOp struct {
	// Path is what it works on.
	Path string
	// Write says that it changes something, or makes a change durable.
	Write bool
	// Sync says that it makes a file or the names in a directory durable.
	Sync bool
}

// Intercept returns fs with before called ahead of every operation, from
// whichever goroutine it comes. When before returns an error, the operation is
// not done and fails with it.
func Intercept(fs kv.FS, before func(FileOp) error) kv.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
		return before(FileOp{Path: op.Path, Write: op.Kind.ReadOrWrite() == errorfs.OpIsWrite, Sync: sync})
	}))
}

// WithFreeSpace returns fs on a disk that has as many bytes free as free says.
func WithFreeSpace(fs kv.FS, free func() uint64) kv.FS { return sizedFS{fs, free} }

type sizedFS struct {
	vfs.FS
	free func() uint64
}

func (s sizedFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: s.free(), TotalBytes: 1 << 40}, nil
}

func (s sizedFS) Unwrap() vfs.FS { return s.FS }
