package kvtest

import (
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// WithCapacity returns fs, a file system in memory, on a disk that holds so many
// bytes: a write that finds less free fails and writes nothing. What is removed
// is free again.
func WithCapacity(fs kv.FS, bytes uint64) kv.FS {
	c := &capacity{inner: fs, total: int64(bytes)}
	return boundedFS{WithFreeSpace(fs, func() uint64 { return uint64(max(0, c.free())) }), c}
}

type capacity struct {
	inner kv.FS
	total int64
	mu    sync.Mutex // held while a write looks and writes
}

func (c *capacity) free() int64 { return c.total - sizeBelow(c.inner, "/") }

func sizeBelow(fs kv.FS, path string) (n int64) {
	info, err := fs.Stat(path)
	if err != nil {
		return 0 // removed meanwhile
	}
	if !info.IsDir() {
		return info.Size()
	}
	names, err := fs.List(path)
	if err != nil {
		return 0
	}
	for _, name := range names {
		n += sizeBelow(fs, fs.PathJoin(path, name))
	}
	return n
}

type boundedFS struct {
	vfs.FS
	c *capacity
}

func (b boundedFS) Unwrap() vfs.FS { return b.FS }

func (b boundedFS) bound(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return boundedFile{f, b.c}, nil
}

func (b boundedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return b.bound(b.FS.Create(name, category))
}

func (b boundedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return b.bound(b.FS.ReuseForWrite(oldname, newname, category))
}

func (b boundedFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return b.bound(b.FS.OpenReadWrite(name, category, opts...))
}

type boundedFile struct {
	vfs.File
	c *capacity
}

func (f boundedFile) Write(p []byte) (int, error) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	if f.c.free() < int64(len(p)) {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(p)
}
