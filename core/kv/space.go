package kv

import (
	"errors"
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
	ballast  bool
}

const (
	probeEvery  = time.Second
	ballastName = "ballast"
)

func (d *diskSpace) open(s *Store) error {
	if s.opts.FreeSpaceFloorBytes == 0 {
		return nil
	}
	d.known = true
	_, err := s.fs.Stat(d.path(s))
	switch {
	case err == nil:
		d.ballast = true
	case !oserror.IsNotExist(err):
		return err
	}
	return d.probe(s)
}

// wrote counts bytes on their way to the disk.
func (d *diskSpace) wrote(n int) { d.unprobed.Add(int64(n)) }

// admit returns RESOURCE_EXHAUSTED when the disk has less than the floor free.
// It is called in a turn.
func (d *diskSpace) admit(s *Store) error {
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
		s.counters.noSpace.Add(1)
		return fault.New(op.ReasonResourceExhausted, "")
	}
	return nil
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
	wantBallast := s.opts.BallastBytes > 0
	switch {
	case free < floor/2 && d.ballast:
		// The space is for compactions; updates stay refused.
		if err := s.fs.Remove(d.path(s)); err != nil {
			return err
		}
		d.ballast = false
		s.log.Warn("the disk is nearly full: ballast deleted", "free_bytes", free)
		d.low.Store(true)
	case wantBallast && !d.ballast && free >= floor+s.opts.BallastBytes:
		if err := d.fill(s); err != nil {
			return err
		}
		d.low.Store(false)
	default:
		d.low.Store(free < floor || wantBallast && !d.ballast && d.low.Load())
	}
	return nil
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
	err = errors.Join(f.Preallocate(0, s.opts.BallastBytes), f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, s.fs.Remove(d.path(s)))
	}
	d.ballast = true
	return nil
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
// cannot say.
func (s *Store) freeBytes() (free int64, ok bool, err error) {
	usage, err := s.fs.GetDiskUsage(s.opts.Dir)
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
