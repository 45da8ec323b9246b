package kv

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// diskSpace refuses updates before a full disk reaches the write-ahead log
// (KV-12). Below the floor, updates are refused and reads go on. When the disk
// has even less than half the floor, the ballast file is deleted, so that
// compactions still have room to free more; the ballast comes back, and then the
// updates, when there is space for both.
//
// The disk is asked again after every quarter of the floor that was written, and
// at least every probeEvery.
type diskSpace struct {
	low atomic.Bool
	// unprobed counts the bytes written since the last probe.
	unprobed atomic.Int64

	// The rest is used by one goroutine at a time: in a turn, or at open and close.
	probedAt time.Time
	known    bool
	// free is what prepare found, tight that it may be too little to open.
	free  int64
	tight bool

	// ballastMu protects ballast, which says that the file is there: whichever
	// write meets a full disk deletes it.
	ballastMu sync.Mutex
	ballast   bool
}

const (
	probeEvery  = time.Second
	ballastName = "ballast"
	// openMargin is what opening needs beside the log that it replays: a new log,
	// a new manifest.
	openMargin = 4 << 20
	// reapMargin is what work that frees space leaves free: its deletions go
	// through the log too, and a log that cannot be written ends the process. It
	// has no other floor: refused, it could not free what an upload has taken.
	reapMargin = 8 << 20
	// fullPause is how long a write waits that met a full disk and had no ballast
	// to delete. The engine tries again what failed in the background, at once and
	// for ever; this is what slows it down.
	fullPause = 500 * time.Millisecond
)

// ErrNoSpace says that the disk has too little free to begin a directory.
var ErrNoSpace = errors.New("kv: the disk is full")

// prepare is called before the engine opens, which replays the log into tables
// and so needs room. On a disk without, the ballast goes first; when that is not
// enough the engine would try for ever, and is opened for reading at first. A
// directory in which there is nothing to read is not begun.
func (d *diskSpace) prepare(s *Store) error {
	if s.opts.FreeSpaceFloorBytes == 0 {
		return nil
	}
	_, err := s.fs.Stat(d.path(s))
	if err != nil && !oserror.IsNotExist(err) {
		return err
	}
	if d.ballast = err == nil; d.ballast {
		if err := d.private(s); err != nil {
			return err
		}
	}
	ok := false
	if d.free, ok, err = s.freeBytes(); err != nil || !ok {
		return err
	}
	logs, err := s.logBytes()
	if err != nil {
		return err
	}
	need := logs + openMargin
	if d.free < need && d.dropBallast(s) {
		if d.free, _, err = s.freeBytes(); err != nil {
			return err
		}
	}
	d.tight = d.free < need
	if _, err := s.fs.Stat(s.fs.PathJoin(s.opts.Dir, storeDir)); d.tight && oserror.IsNotExist(err) {
		return fmt.Errorf("%w: a new data directory needs about %d MiB free, and %d are", ErrNoSpace, openMargin>>20, d.free>>20)
	}
	return nil
}

// logBytes is how much log the engine has to replay at most.
func (s *Store) logBytes() (n int64, err error) {
	dir := s.fs.PathJoin(s.opts.Dir, storeDir)
	names, err := s.fs.List(dir)
	if oserror.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		info, err := s.fs.Stat(s.fs.PathJoin(dir, name))
		if err != nil {
			return 0, err
		}
		n += info.Size()
	}
	return n, nil
}

func (d *diskSpace) open(s *Store) error {
	if s.opts.FreeSpaceFloorBytes == 0 {
		return nil
	}
	d.known = true
	if s.readOnly.on.Load() {
		return nil
	}
	return d.probe(s)
}

// full is called when a write of the engine has met a full disk, before it is
// tried once more. Other writes wait meanwhile.
func (d *diskSpace) full(s *Store) {
	d.low.Store(true)
	if d.dropBallast(s) || s.opts.NoBackground {
		return
	}
	timer := s.clk.NewTimer(fullPause)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-s.dead:
	}
}

// dropBallast deletes the ballast, and reports whether there was one.
func (d *diskSpace) dropBallast(s *Store) bool {
	d.ballastMu.Lock()
	defer d.ballastMu.Unlock()
	if !d.ballast {
		return false
	}
	if err := s.fs.Remove(d.path(s)); err != nil && !oserror.IsNotExist(err) {
		s.log.Error("the ballast cannot be deleted", "error", err)
		return false
	}
	d.ballast = false
	s.log.Warn("the disk is nearly full: ballast deleted")
	return true
}

func (d *diskSpace) hasBallast() bool {
	d.ballastMu.Lock()
	defer d.ballastMu.Unlock()
	return d.ballast
}

// wrote counts bytes on their way to the disk.
func (d *diskSpace) wrote(n int) { d.unprobed.Add(int64(n)) }

// admit returns RESOURCE_EXHAUSTED when the disk has less than the floor free.
// It is called in a turn.
func (d *diskSpace) admit(s *Store, c class) error {
	if s.readOnly.on.Load() {
		return s.noSpace()
	}
	if c == background && s.roomToReap() {
		return nil
	}
	if !d.known {
		return nil
	}
	now := s.clk.Now()
	if d.low.Load() || d.unprobed.Load() > s.opts.FreeSpaceFloorBytes/4 || now.Sub(d.probedAt) >= probeEvery {
		if err := d.probe(s); err != nil {
			return err
		}
	}
	if d.low.Load() {
		return s.noSpace()
	}
	return nil
}

// noSpace is the refusal of an update.
func (s *Store) noSpace() error {
	s.counters.noSpace.Add(1)
	return fault.New(op.ReasonResourceExhausted, "")
}

func (d *diskSpace) probe(s *Store) error {
	d.unprobed.Store(0)
	d.probedAt = s.clk.Now()
	free, ok, err := s.freeBytes()
	if err != nil {
		return err
	}
	if !ok {
		d.known = false
		return nil
	}
	floor := s.opts.FreeSpaceFloorBytes
	wantBallast, ballast := s.opts.BallastBytes > 0, d.hasBallast()
	switch {
	case free < floor/2 && ballast:
		// The space is for compactions; updates stay refused.
		d.low.Store(true)
		d.dropBallast(s)
	case wantBallast && !ballast && free >= floor+s.opts.BallastBytes:
		if err := d.fill(s); err != nil {
			return err
		}
		d.low.Store(false)
	default:
		d.low.Store(free < floor || wantBallast && !ballast && d.low.Load())
	}
	return nil
}

// roomToReap reports whether there is room for the reaper's deletions.
func (s *Store) roomToReap() bool {
	if s.opts.FreeSpaceFloorBytes == 0 {
		return true
	}
	free, ok, err := s.freeBytes()
	return err == nil && !s.readOnly.on.Load() && (!ok || free >= reapMargin)
}

func (d *diskSpace) path(s *Store) string { return s.fs.PathJoin(s.opts.Dir, ballastName) }

// fill makes the ballast file.
func (d *diskSpace) fill(s *Store) error {
	f, err := s.fs.Create(d.path(s), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// Preallocate takes the blocks; where a file system only pretends to, there is
	// nothing to give back later, and the floor alone protects the log.
	err = errors.Join(d.private(s), f.Preallocate(0, s.opts.BallastBytes), f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, s.fs.Remove(d.path(s)))
	}
	d.ballastMu.Lock()
	d.ballast = true
	d.ballastMu.Unlock()
	return nil
}

// private makes the ballast a file of the owner's alone. File systems in memory
// know no modes.
func (d *diskSpace) private(s *Store) error {
	if s.fs != diskFS() {
		return nil
	}
	return os.Chmod(d.path(s), 0o600)
}

// CheckSpace returns RESOURCE_EXHAUSTED when the disk has less than the floor
// free. It is for those who write files of their own beside the store, and may
// be called from anywhere but a turn.
func (s *Store) CheckSpace() error {
	if s.opts.FreeSpaceFloorBytes == 0 {
		return nil
	}
	free, ok, err := s.freeBytes()
	if err != nil || !ok {
		return err
	}
	if s.space.low.Load() || free < s.opts.FreeSpaceFloorBytes {
		return fault.New(op.ReasonResourceExhausted, "")
	}
	return nil
}

// freeBytes returns what the disk has free, and false when the file system
// cannot say. A directory that is not there yet is going to be on the disk of
// the one above.
func (s *Store) freeBytes() (free int64, ok bool, err error) {
	dir := s.opts.Dir
	usage, err := s.fs.GetDiskUsage(dir)
	for up := s.fs.PathDir(dir); oserror.IsNotExist(err) && up != dir; up = s.fs.PathDir(dir) {
		dir = up
		usage, err = s.fs.GetDiskUsage(dir)
	}
	if errors.Is(err, vfs.ErrUnsupported) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return int64(min(usage.AvailBytes, 1<<62)), true, nil
}

// LowSpace reports whether updates are refused because the disk is nearly full.
func (s *Store) LowSpace() bool { return s.space.low.Load() }
