package kvtest

import (
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// Observe returns a file system that calls before ahead of every operation that
// changes what is stored, or makes it durable. The name says which operation on
// which file. before may be called by several goroutines at once.
func Observe(fs kv.FS, before func(operation, name string)) kv.FS {
	return &observedFS{FS: fs, before: before}
}

type observedFS struct {
	vfs.FS
	before func(operation, name string)
}

func (o *observedFS) Unwrap() vfs.FS { return o.FS }

func (o *observedFS) file(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &observedFile{File: f, name: name, fs: o}, nil
}

func (o *observedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	o.before("create", name)
	f, err := o.FS.Create(name, category)
	return o.file(name, f, err)
}

func (o *observedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	o.before("reuse", newname)
	f, err := o.FS.ReuseForWrite(oldname, newname, category)
	return o.file(newname, f, err)
}

func (o *observedFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	o.before("open", name)
	f, err := o.FS.OpenReadWrite(name, category, opts...)
	return o.file(name, f, err)
}

func (o *observedFS) OpenDir(name string) (vfs.File, error) {
	f, err := o.FS.OpenDir(name)
	return o.file(name, f, err)
}

func (o *observedFS) Link(oldname, newname string) error {
	o.before("link", newname)
	return o.FS.Link(oldname, newname)
}

func (o *observedFS) Rename(oldname, newname string) error {
	o.before("rename", newname)
	return o.FS.Rename(oldname, newname)
}

func (o *observedFS) Remove(name string) error {
	o.before("remove", name)
	return o.FS.Remove(name)
}

func (o *observedFS) RemoveAll(name string) error {
	o.before("remove", name)
	return o.FS.RemoveAll(name)
}

func (o *observedFS) MkdirAll(dir string, perm os.FileMode) error {
	o.before("mkdir", dir)
	return o.FS.MkdirAll(dir, perm)
}

type observedFile struct {
	vfs.File
	name string
	fs   *observedFS
}

func (f *observedFile) Write(p []byte) (int, error) {
	f.fs.before("write", f.name)
	return f.File.Write(p)
}

func (f *observedFile) WriteAt(p []byte, off int64) (int, error) {
	f.fs.before("write", f.name)
	return f.File.WriteAt(p, off)
}

func (f *observedFile) Sync() error {
	f.fs.before("sync", f.name)
	return f.File.Sync()
}

func (f *observedFile) SyncData() error {
	f.fs.before("sync", f.name)
	return f.File.SyncData()
}

func (f *observedFile) SyncTo(length int64) (bool, error) {
	f.fs.before("sync", f.name)
	return f.File.SyncTo(length)
}
