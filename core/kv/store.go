package kv

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Revision counts the updates of one root that wrote something, from 1.
type Revision uint64

// Root is the handle of one namespace. It is comparable, and valid for the
// store that gave it out. The zero Root is no root.
type Root struct{ state *rootState }

// ID returns the root's dense id, from 1, for the encoders of core/keys.
func (r Root) ID() uint32 {
	if r.state == nil {
		return keys.StoreRoot
	}
	return r.state.id
}

// RootName is how a root is registered.
type RootName struct{ Area, Tenant, Name string }

// rootState is what the store knows of a root in memory.
type rootState struct {
	id   uint32
	name RootName
	// registered is the number of the update that made the root; 0 when that was
	// before the store was opened.
	registered uint64

	// durable is the watermark: the revision at which Views read.
	durable atomic.Uint64
	// floor is the history floor. It is raised in a turn, before the row that
	// says so is durable, and nothing is dropped until it is.
	floor atomic.Uint64
	// tabled is a revision up to which everything is known to lie in tables.
	tabled atomic.Uint64

	// The rest is written in a turn only.

	// head is the last applied revision, headAt when it was applied.
	head   Revision
	headAt int64
	// holdSerial is the last hold id minted.
	holdSerial uint64
	views      viewEpochs

	// holdMu protects holds, which turns write and Views read.
	holdMu sync.RWMutex
	holds  holdTable

	// reapFrom is where the reaper's queue begins: rows before it are gone.
	reapFrom []byte
	reaped   reapedSpan
}

// Store is an open data directory. All methods are safe for concurrent use,
// except Close.
type Store struct {
	opts  Options
	db    *pebble.DB
	fs    FS
	clk   clock.Clock
	ids   io.Reader
	log   *slog.Logger
	cache *pebble.Cache
	rows  *rowCache

	installation, tenant [16]byte

	seq  *sequencer
	mark watermark

	// Written in a turn only.

	// lastNumber is the number of the last applied update, over all roots.
	lastNumber uint64
	// toldMillis is the latest instant that a Tx was told, markedMillis the
	// latest that is in an applied batch.
	toldMillis, markedMillis int64
	// shownMillis is toldMillis for those outside of turns.
	shownMillis atomic.Int64

	rootsMu sync.RWMutex
	roots   map[RootName]*rootState
	byID    []*rootState // index id-1

	idsMu sync.Mutex

	space    diskSpace
	readOnly readOnly

	// users counts the calls that are inside the store; closing adds closedBit, a
	// change of engines pausedBit for as long as it takes.
	users       atomic.Int64
	drained     chan struct{}
	drainedOnce sync.Once

	dead     chan struct{}
	deadOnce sync.Once
	deadErr  error

	background backgroundLoop
	// reapMu admits one run of the reaper at a time; it protects reapFrom and
	// reaped of every root.
	reapMu sync.Mutex

	// hooks are registered before the first Update, and only read afterwards.
	hooks  [256]*Hooks
	hooked bool

	checksMu sync.Mutex
	checks   []registeredCheck

	counters   counters
	complaints complaints
}

const (
	closedBit = 1 << 62
	pausedBit = 1 << 61
)

// Open opens the data directory, and makes it when there is none. What was
// acknowledged before is there; what was not is there whole or not at all.
//
// Errors: ErrFormat when a newer program wrote the directory; ErrRestoring; ErrNoSpace for a new one; an
// error of the file system otherwise, also when another process has it open.
func Open(o Options) (*Store, error) {
	o = withDefaults(o)
	s := &Store{
		rows: newRowCache(),
		opts: o, fs: o.FS, clk: o.Clock, log: o.Logger,
		roots:   make(map[RootName]*rootState),
		seq:     newSequencer(o.QueueDepth),
		drained: make(chan struct{}),
		dead:    make(chan struct{}),
	}
	s.readOnly.drained = make(chan struct{}, 1)
	s.ids = lockedReader{&s.idsMu, o.IDs}
	if err := s.refuseRestoring(); err != nil {
		return nil, err
	}
	if err := s.space.prepare(s); err != nil {
		return nil, err
	}
	if err := s.openPebble(); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, s.shut())
	}
	if err := s.space.open(s); err != nil {
		return nil, errors.Join(err, s.shut())
	}
	return s, nil
}

func withDefaults(o Options) Options {
	o.FS = cmp.Or[FS](o.FS, diskFS())
	o.Clock = cmp.Or(o.Clock, clock.System())
	o.IDs = cmp.Or[io.Reader](o.IDs, rand.Reader)
	o.QueueDepth = cmp.Or(o.QueueDepth, 1024)
	o.HistoryWindow = max(0, cmp.Or(o.HistoryWindow, DefaultHistoryWindow))
	o.FreeSpaceFloorBytes = max(0, cmp.Or(o.FreeSpaceFloorBytes, DefaultFreeSpaceFloorBytes))
	o.BallastBytes = max(0, cmp.Or(o.BallastBytes, DefaultBallastBytes))
	o.CacheBytes = cmp.Or(o.CacheBytes, 96<<20)
	o.MemTableBytes = cmp.Or(o.MemTableBytes, 32<<20)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Fatal == nil {
		logger := o.Logger
		o.Fatal = func(err error) {
			logger.Error("the write-ahead log failed; ending the process", "error", err)
			os.Exit(3)
		}
	}
	return o
}

// Names of the store's own facts. Part of the store's format.
const (
	metaFormat       = "format"
	metaInstallation = "installation"
	metaTenant       = "tenant"
)

// formatVersion is the version of everything in this package that lies on disk.
const formatVersion = 1

func (s *Store) load() error {
	format, ok, err := s.readMeta(metaFormat)
	if err != nil {
		return err
	}
	if !ok || len(format) != 1 || format[0] != formatVersion {
		return fmt.Errorf("%w (%x, this program knows %d)", ErrFormat, format, formatVersion)
	}
	for name, id := range map[string]*[16]byte{metaInstallation: &s.installation, metaTenant: &s.tenant} {
		fact, ok, err := s.readMeta(name)
		if err != nil {
			return err
		}
		if !ok || len(fact) != len(id) {
			return fmt.Errorf("%w: no %s id", ErrFormat, name)
		}
		copy(id[:], fact)
	}
	if err := s.loadRoots(); err != nil {
		return err
	}
	return s.loadClock()
}

// mint writes what a data directory has from its first moment on.
func mint(db *pebble.DB, ids io.Reader) error {
	b := db.NewBatch()
	defer func() { _ = b.Close() }()
	facts := []struct {
		name string
		fact []byte
	}{{metaFormat, []byte{formatVersion}}, {metaInstallation, nil}, {metaTenant, nil}}
	for _, f := range facts {
		if f.fact == nil {
			id, err := newUUID(ids)
			if err != nil {
				return err
			}
			f.fact = id[:]
		}
		if err := b.Set(appendBare(nil, keys.AppendMeta(nil, f.name)), record.AppendMeta(nil, f.fact), nil); err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

// newUUID makes a random UUID (version 4) from an id source.
func newUUID(ids io.Reader) (id [16]byte, err error) {
	if _, err := io.ReadFull(ids, id[:]); err != nil {
		return id, fmt.Errorf("kv: id source: %w", err)
	}
	id[6] = id[6]&0x0F | 0x40
	id[8] = id[8]&0x3F | 0x80
	return id, nil
}

func (s *Store) readMeta(name string) ([]byte, bool, error) {
	stored, ok, err := s.getBare(keys.AppendMeta(nil, name))
	if err != nil || !ok {
		return nil, false, err
	}
	fact, err := record.DecodeMeta(stored)
	return fact, err == nil, err
}

// getBare reads a housekeeping row as it is applied, into memory of its own.
func (s *Store) getBare(key []byte) ([]byte, bool, error) {
	value, closer, err := s.db.Get(appendBare(nil, key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value = slices.Clone(value)
	return value, true, closer.Close()
}

func (s *Store) loadRoots() error {
	err := s.scanBare(keys.SpaceRoots, keys.StoreRoot, func(key, value []byte) error {
		area, tenant, name, err := keys.CutRoot(key)
		if err != nil {
			return err
		}
		entry, err := record.DecodeRootEntry(value)
		if err != nil {
			return err
		}
		st := &rootState{id: entry.ID, name: RootName{area, tenant, name}}
		s.roots[st.name] = st
		s.byID = append(s.byID, st)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(s.byID, func(a, b *rootState) int { return cmp.Compare(a.id, b.id) })
	for i, st := range s.byID {
		if int(st.id) != i+1 {
			return fmt.Errorf("kv: root ids have a gap before %d (KV-1)", st.id)
		}
		if err := s.loadRoot(st); err != nil {
			return fmt.Errorf("kv: root %d: %w", st.id, err)
		}
	}
	return nil
}

func (s *Store) loadRoot(st *rootState) error {
	stored, ok, err := s.getBare(keys.AppendRootHead(nil, st.id))
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("no head (KV-1)")
	}
	head, err := record.DecodeRootHead(stored)
	if err != nil {
		return err
	}
	// Pebble has replayed its log and made it durable again, so what is applied
	// is durable now.
	st.head, st.headAt = Revision(head.Revision), head.AtMillis
	st.durable.Store(head.Revision)
	if stored, ok, err = s.getBare(keys.AppendFloor(nil, st.id)); err != nil {
		return err
	} else if ok {
		floor, err := record.DecodeFloor(stored)
		if err != nil {
			return err
		}
		st.floor.Store(floor.Revision)
	}
	return s.loadHolds(st)
}

func (s *Store) loadClock() error {
	stored, ok, err := s.getBare(keys.AppendClock(nil))
	if err != nil {
		return err
	}
	if ok {
		mark, err := record.DecodeClockMark(stored)
		if err != nil {
			return err
		}
		s.toldMillis = mark.AtMillis
	}
	for _, st := range s.byID {
		s.toldMillis = max(s.toldMillis, st.headAt)
	}
	s.markedMillis = s.toldMillis
	s.shownMillis.Store(s.toldMillis)
	return nil
}

// scanBare calls fn for every row of a housekeeping space as it is applied. The
// slices are valid until fn returns.
func (s *Store) scanBare(space byte, root uint32, fn func(key, value []byte) error) error {
	lower, upper := keys.SpaceBounds(space, root)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: appendBare(nil, lower), UpperBound: appendBare(nil, upper)})
	if err != nil {
		return err
	}
	for valid := it.First(); valid && err == nil; valid = it.Next() {
		key, _, ok := splitPhysical(it.Key())
		if !ok {
			err = keys.ErrMalformed
			break
		}
		err = fn(key, it.Value())
	}
	return errors.Join(err, it.Error(), it.Close())
}

// Close waits for the calls that are inside the store, stops the background and
// closes the files. Calls that wait for their turn, and later ones, fail with
// ErrClosed as their cause. The second Close returns ErrClosed.
func (s *Store) Close() error {
	s.readOnly.mu.Lock() // a change of engines ends first
	for {
		n := s.users.Load()
		if n&closedBit != 0 {
			s.readOnly.mu.Unlock()
			return ErrClosed
		}
		if s.users.CompareAndSwap(n, n|closedBit) {
			if n == 0 {
				s.drainedOnce.Do(func() { close(s.drained) })
			}
			break
		}
	}
	s.readOnly.mu.Unlock()
	s.seq.close(errClosed())
	s.background.stop()
	<-s.drained
	return s.shut()
}

func (s *Store) shut() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	s.cache.Unref()
	return err
}

func errClosed() error {
	return fault.New(op.ReasonUnavailable, "The store is shutting down.").Because(ErrClosed)
}

// enter lets a call into the store; leave lets it out. A closed or dead store
// admits nobody, a paused one lets wait.
func (s *Store) enter() error {
	for {
		n := s.users.Add(1)
		if n&(closedBit|pausedBit) == 0 {
			break
		}
		s.leave()
		if n&closedBit != 0 {
			return errClosed()
		}
		s.readOnly.mu.Lock()
		s.readOnly.mu.Unlock() //nolint:staticcheck // an empty section: only to wait
	}
	select {
	case <-s.dead:
		s.leave()
		return s.deadFault()
	default:
		return nil
	}
}

func (s *Store) leave() {
	// Late callers that are refused bring the count to zero again and again.
	switch s.users.Add(-1) {
	case closedBit:
		s.drainedOnce.Do(func() { close(s.drained) })
	case pausedBit:
		select {
		case s.readOnly.drained <- struct{}{}:
		default:
		}
	}
}

// die ends the store: the log failed with err, and nothing since its last sync
// is durable (KV-11).
func (s *Store) die(err error) {
	s.deadOnce.Do(func() {
		s.deadErr = err
		close(s.dead)
		s.seq.close(s.deadFault())
		s.opts.Fatal(err)
	})
}

func (s *Store) deadFault() error {
	return fault.New(op.ReasonUnavailable, "The store has failed and takes no more calls.").Because(errors.Join(ErrDead, s.deadErr))
}

func (s *Store) isDead() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// FS returns the file system of the data directory.
func (s *Store) FS() FS { return s.fs }

// Dir returns the data directory. The store's own files are in its
// subdirectory kv; every other name is free for other packages.
func (s *Store) Dir() string { return s.opts.Dir }

// Clock returns the clock that the store was opened with.
func (s *Store) Clock() clock.Clock { return s.clk }

// Now returns the present instant for those who read, in UTC and with the
// resolution of a millisecond: never one before an instant that an update was
// told, whatever the machine's clock does (KV-10). How long something takes is
// measured by Clock.
func (s *Store) Now() time.Time {
	return time.UnixMilli(max(s.shownMillis.Load(), s.clk.Now().UnixMilli())).UTC()
}

// IDs returns the id source. Reads of several goroutines do not mix.
func (s *Store) IDs() io.Reader { return s.ids }

// InstallationID returns the UUID that was minted with the data directory.
func (s *Store) InstallationID() [16]byte { return s.installation }

// TenantID returns the UUID of the tenant that callers without credentials get.
// It was minted with the data directory.
func (s *Store) TenantID() [16]byte { return s.tenant }

// HistoryWindow returns how long a superseded version stays readable.
func (s *Store) HistoryWindow() time.Duration { return s.opts.HistoryWindow }

type lockedReader struct {
	mu *sync.Mutex
	r  io.Reader
}

func (l lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return io.ReadFull(l.r, p)
}

// Root returns the handle of a root, and registers it when it is new; a new
// root is durable when Root returns.
func (s *Store) Root(ctx context.Context, area, tenant, name string) (Root, error) {
	if err := s.enter(); err != nil {
		return Root{}, err
	}
	defer s.leave()
	rn := RootName{area, tenant, name}
	st := s.lookupRoot(rn)
	if st == nil {
		var own *commit
		var err error
		if st, own, err = s.registerRoot(ctx, rn); err != nil {
			return Root{}, err
		}
		if own != nil {
			return Root{st}, s.syncWait(own)
		}
	}
	return Root{st}, s.waitDurable(st.registered)
}

func (s *Store) lookupRoot(rn RootName) *rootState {
	s.rootsMu.RLock()
	defer s.rootsMu.RUnlock()
	return s.roots[rn]
}

// registerRoot returns the update that registered the root, or nil when another
// caller was first.
func (s *Store) registerRoot(ctx context.Context, rn RootName) (*rootState, *commit, error) {
	if err := s.seq.acquire(ctx, foreground); err != nil {
		return nil, nil, err
	}
	defer s.seq.release()
	if st := s.lookupRoot(rn); st != nil {
		return st, nil, nil
	}
	if err := s.space.admit(s, foreground); err != nil {
		return nil, nil, err
	}
	st := &rootState{id: uint32(len(s.byID)) + 1, name: rn, registered: s.lastNumber + 1}
	b := s.db.NewBatch()
	err := errors.Join(
		b.Set(appendBare(nil, keys.AppendRoot(nil, rn.Area, rn.Tenant, rn.Name)), record.AppendRootEntry(nil, record.RootEntry{ID: st.id}), nil),
		b.Set(appendBare(nil, keys.AppendRootHead(nil, st.id)), record.AppendRootHead(nil, record.RootHead{}), nil),
	)
	if err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	c, err := s.apply(b, nil, 0)
	if err != nil {
		return nil, nil, err
	}
	s.rootsMu.Lock()
	s.roots[rn] = st
	s.byID = append(s.byID, st)
	s.rootsMu.Unlock()
	return st, c, nil
}

// Roots returns the registered roots in the order of their ids, with their names.
func (s *Store) Roots() ([]Root, []RootName) {
	s.rootsMu.RLock()
	defer s.rootsMu.RUnlock()
	roots, names := make([]Root, len(s.byID)), make([]RootName, len(s.byID))
	for i, st := range s.byID {
		roots[i], names[i] = Root{st}, st.name
	}
	return roots, names
}
