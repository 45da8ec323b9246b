package kv

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/cockroachkvs"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sawhorse-dev/sawhorse/core/clock"
)

// pebbleFormat is pinned: a newer Pebble does not silently write files that an
// older program cannot open. Raising it is a change of the store's format.
const pebbleFormat = pebble.FormatValueSeparation

func diskFS() FS { return vfs.Default }

// Disk returns the machine's file system.
func Disk() FS { return diskFS() }

// Names under the data directory. Part of the store's format.
const (
	storeDir    = "kv"
	storeDirNew = "kv.new"
)

// openPebble opens Dir/kv. One that is not there yet is made under another name
// and moved into place when it is complete and synced: a power cut during the
// first opening leaves no directory that does not open.
func (s *Store) openPebble() (err error) {
	s.cache = pebble.NewCache(s.opts.CacheBytes)
	defer func() {
		if err != nil {
			s.cache.Unref()
			err = fmt.Errorf("kv: opening the data directory: %w", err)
		}
	}()
	dir := s.fs.PathJoin(s.opts.Dir, storeDir)
	if _, err := s.fs.Stat(dir); oserror.IsNotExist(err) {
		if err := s.makeStore(dir); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if s.space.tight {
		return s.openReadOnly(dir, s.space.free)
	}
	s.db, err = pebble.Open(dir, s.pebbleOptions(false))
	return err
}

func (s *Store) makeStore(dir string) error {
	fresh := s.fs.PathJoin(s.opts.Dir, storeDirNew)
	if err := s.fs.RemoveAll(fresh); err != nil && !oserror.IsNotExist(err) {
		return err
	}
	if err := makeDir(s.fs, fresh); err != nil {
		return err
	}
	db, err := pebble.Open(fresh, s.pebbleOptions(false))
	if err != nil {
		return err
	}
	if err := errors.Join(mint(db, s.ids), db.Close()); err != nil {
		return err
	}
	if err := syncDir(s.fs, fresh); err != nil {
		return err
	}
	if err := s.fs.Rename(fresh, dir); err != nil {
		return err
	}
	return syncDir(s.fs, s.opts.Dir)
}

func (s *Store) pebbleOptions(readOnly bool) *pebble.Options {
	schema := cockroachkvs.KeySchema
	o := &pebble.Options{
		ReadOnly:           readOnly,
		FS:                 vfs.OnDiskFull(markerFS{s.fs}, func() { s.space.full(s) }),
		Cache:              s.cache,
		FormatMajorVersion: pebbleFormat,
		Comparer:           &cockroachkvs.Comparer,
		KeySchema:          schema.Name,
		KeySchemas:         sstable.MakeKeySchemas(&schema),
		Logger:             pebbleLogger{s},
		EventListener:      s.events(),
		MemTableSize:       uint64(s.opts.MemTableBytes),

		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       1000,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		BlockPropertyCollectors:     []func() pebble.BlockPropertyCollector{newRevisionCollector},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		o.Levels[i].FilterType = pebble.TableFilter
	}
	if s.opts.CacheBytes < 16<<20 {
		o.MaxOpenFiles = 64
	}
	return o
}

// makeDir makes a directory and those above it, so that a power cut right after
// does not take them away: the entry of each new one is synced in the one above.
func makeDir(fs FS, dir string) error {
	var above []string
	for d := dir; ; {
		if _, err := fs.Stat(d); err == nil {
			break
		} else if !oserror.IsNotExist(err) {
			return err
		}
		up := fs.PathDir(d)
		if up == d {
			break
		}
		above, d = append(above, up), up
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range above {
		if err := syncDir(fs, d); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(fs FS, dir string) error {
	f, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// pebbleLogger sends what Pebble says to the store's log. A fatal error of
// Pebble's kills the store: what Pebble reports as done afterwards is not.
type pebbleLogger struct{ s *Store }

func (l pebbleLogger) Infof(format string, args ...any) {
	if l.s.log.Enabled(nil, slog.LevelDebug) {
		l.s.log.Debug(fmt.Sprintf(format, args...))
	}
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.s.complain(fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.s.die(fmt.Errorf(format, args...))
}

// complaints keeps what the engine says over and over from filling the log.
type complaints struct {
	mu     sync.Mutex
	spaced clock.Spaced
}

// complain logs an error of the engine, unless one was logged a moment ago: then
// it is counted, and the next one says how many there were.
func (s *Store) complain(text string, args ...any) {
	c := &s.complaints
	c.mu.Lock()
	unsaid, say := c.spaced.Say(s.clk.Now())
	c.mu.Unlock()
	if say {
		s.log.Error(text, append(args, "like_it", unsaid)...)
	}
}

func (s *Store) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			s.counters.backgroundErrors.Add(1)
			s.complain("storage background work failed; it is tried again", "error", err.Error())
		},
		DiskSlow: func(info pebble.DiskSlowInfo) {
			s.counters.slowDisk.Add(1)
			s.log.Warn("the disk is slow", "operation", info.OpType.String(), "duration", info.Duration)
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			s.counters.stalls.Add(1)
			s.log.Warn("updates wait for compactions", "why", info.Reason)
		},
	}
}
