package kv

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// readOnly is how a store gets by on a disk that is too full for the engine to
// be opened for writing, which puts what is in the log into tables. The engine
// is then opened for reading: the log is replayed into memory, and nothing is
// written. Reads are served and updates refused, as on any full disk (KV-12).
// The first update that comes when there is space again opens the engine for
// writing before it goes on.
type readOnly struct {
	on atomic.Bool

	// mu is held while engines change; Close, and the calls that come meanwhile,
	// wait for that.
	mu sync.Mutex
	// need is how much must be free, triedAt when that was looked at last.
	need    int64
	triedAt time.Time
	// drained is told when the last call has left a paused store; it holds one.
	drained chan struct{}
}

// drainFor is how long a change of engines waits for the calls in progress. One
// that calls the store again from inside a View would wait for ever.
const drainFor = time.Second

// openReadOnly opens the engine for reading, and stays so when there is less
// than it would need for writing.
func (s *Store) openReadOnly(dir string, free int64) (err error) {
	if s.db, err = pebble.Open(dir, s.pebbleOptions(true)); err != nil {
		return err
	}
	// Most of the log may be of tables that are written already: this is what is not.
	need := int64(s.db.Metrics().MemTable.Size) + openMargin
	if free >= need {
		if err := s.db.Close(); err != nil {
			return err
		}
		s.db, err = pebble.Open(dir, s.pebbleOptions(false))
		return err
	}
	s.readOnly.need = max(need, s.opts.FreeSpaceFloorBytes+s.opts.BallastBytes)
	s.readOnly.triedAt = s.clk.Now()
	s.readOnly.on.Store(true)
	s.space.low.Store(true)
	s.log.Warn("the disk is too full to write: open for reading only, until there is space", "free_mib", free>>20, "need_mib", s.readOnly.need>>20)
	return nil
}

// goOn opens the engine for writing when it is open for reading only and there
// is space again. It is called from outside of the store's calls.
func (s *Store) goOn() {
	r := &s.readOnly
	if !r.on.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := s.clk.Now()
	if !r.on.Load() || s.users.Load()&closedBit != 0 || s.isDead() || now.Sub(r.triedAt) < probeEvery {
		return
	}
	r.triedAt = now
	if free, ok, err := s.freeBytes(); err != nil || ok && free < r.need || !s.pause() {
		return
	}
	defer s.users.Add(-pausedBit)
	if err := s.changeEngine(); err != nil {
		s.complain("the disk has space, and the store cannot be opened for writing; it is tried again", "error", err.Error())
	}
}

// pause keeps calls out of the store, and reports whether those inside have left.
func (s *Store) pause() bool {
	r := &s.readOnly
	timer := s.clk.NewTimer(drainFor)
	defer timer.Stop()
	for n := s.users.Add(pausedBit); n != pausedBit; n = s.users.Load() {
		select {
		case <-r.drained: // or it is of an earlier pause
		case <-timer.C():
			s.users.Add(-pausedBit)
			return false
		}
	}
	return true
}

// changeEngine is called while the store is paused.
func (s *Store) changeEngine() error {
	dir := s.fs.PathJoin(s.opts.Dir, storeDir)
	err := s.db.Close()
	s.db = nil
	if err == nil {
		s.db, err = pebble.Open(dir, s.pebbleOptions(false))
	}
	if err == nil {
		s.readOnly.on.Store(false)
		s.log.Info("there is space again: updates go on")
		return s.space.open(s)
	}
	var back error
	if s.db, back = pebble.Open(dir, s.pebbleOptions(true)); back != nil {
		s.db = nil
		s.die(errors.Join(err, back))
	}
	return err
}
