package kv

import (
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// gateFS lets a test hold back, or fail, every sync of a log file.
type gateFS struct {
	vfs.FS
	mu   sync.Mutex
	cond *sync.Cond
	held bool
	fail error
}

func newGateFS(fs vfs.FS) *gateFS {
	g := &gateFS{FS: fs}
	g.cond = sync.NewCond(&g.mu)
	return g
}

func (g *gateFS) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = true
}

func (g *gateFS) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = false
	g.cond.Broadcast()
}

func (g *gateFS) failWith(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail = err
}

func (g *gateFS) pass() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.held {
		g.cond.Wait()
	}
	return g.fail
}

func (g *gateFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.FS.Create(name, category)
	return g.wrap(name, f), err
}

func (g *gateFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.FS.ReuseForWrite(oldname, newname, category)
	return g.wrap(newname, f), err
}

func (g *gateFS) wrap(name string, f vfs.File) vfs.File {
	if f == nil || !strings.HasSuffix(name, ".log") {
		return f
	}
	return &gateFile{File: f, gate: g}
}

type gateFile struct {
	vfs.File
	gate *gateFS
}

func (f *gateFile) Sync() error {
	if err := f.gate.pass(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *gateFile) SyncData() error {
	if err := f.gate.pass(); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f *gateFile) SyncTo(length int64) (bool, error) {
	if err := f.gate.pass(); err != nil {
		return false, err
	}
	return f.File.SyncTo(length)
}

// fullAtTables is a disk that has no space for tables while it is full.
type fullAtTables struct {
	vfs.FS
	full  atomic.Bool
	tries atomic.Int64
}

func (f *fullAtTables) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if f.full.Load() && strings.HasSuffix(name, ".sst") {
		f.tries.Add(1)
		return nil, syscall.ENOSPC
	}
	return f.FS.Create(name, category)
}
