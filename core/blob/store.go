package blob

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/errors/oserror"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// How bytes are placed. BenchmarkPut compares rows with files: on a disk whose
// sync takes about half a millisecond, 64 KiB in rows cost a quarter of the time
// of a file (which takes four syncs instead of one), 128 KiB a quarter with one
// client and as much with sixteen, 256 KiB a third more to twice as much.
const (
	// TailLimit is how many bytes of a body its record may hold.
	TailLimit = 4 << 10
	// ExtentLimit is how many bytes one extent in a row may hold.
	ExtentLimit = 64 << 10
	// MemoryLimit is how large a publication may be without a file: its bytes
	// travel in memory and lie in rows.
	MemoryLimit = 128 << 10
	// MaxSpans is how many lists a body may go through.
	MaxSpans = 8
)

// Options say how to open a Store.
type Options struct {
	// StagingGrace is how long an upload may rest before it is given up; 0 means
	// DefaultStagingGrace.
	StagingGrace time.Duration
	// Logger is for what happens in the background; nil drops it.
	Logger *slog.Logger
	// NoBackground starts no goroutine; a test then calls Collect.
	NoBackground bool
}

// DefaultStagingGrace is the default of Options.StagingGrace.
const DefaultStagingGrace = time.Hour

// Store keeps the bodies of all roots of a kv.Store. All methods are safe for
// concurrent use.
type Store struct {
	kv    *kv.Store
	fs    kv.FS
	clk   clock.Clock
	log   *slog.Logger
	grace time.Duration
	dir   string // of all roots; each root has a directory in it

	openedAt time.Time

	mu sync.Mutex
	// ready holds the roots whose directory is known to be durable.
	ready map[uint32]bool
	// pins counts the open bodies that go through a list.
	pins map[listPin]int
	// loose holds, for each loose list that the collector has met since a
	// reference to it was dropped last, a mark of that moment.
	loose map[listPin]uint64
	// uploads holds the staged uploads of this process.
	uploads map[segmentKey]*upload
	// dirty holds the roots in which there may be something to collect.
	dirty map[kv.Root]bool
	// swept holds the roots whose directory was compared with the rows.
	swept map[kv.Root]bool
	// frozen counts the callers of Freeze that have not let go.
	frozen int
	// governed lists the spaces whose rows embed bodies.
	governed []governedSpace

	collecting sync.Mutex // held by the one Collect that runs
	stepping   sync.Mutex // held by each of its steps
	kick       chan struct{}
	stop       chan struct{}
	stopped    chan struct{}
	stopOnce   sync.Once
}

type listPin struct {
	root uint32
	list record.BodyList
}

type segmentKey struct {
	root uint32
	id   keys.SegmentID
}

// bodiesDir is the directory of all files of this package, in the data
// directory. Part of the store's format.
const bodiesDir = "bodies"

// Open returns the store of bodies over s and registers its checks there. Files
// that an earlier process left unpublished are removed by the collector, soon
// after.
//
// Every space whose rows embed bodies must be named to Govern before the first
// Update.
func Open(s *kv.Store, o Options) (*Store, error) {
	b := &Store{
		kv: s, fs: s.FS(), clk: s.Clock(), log: o.Logger, grace: o.StagingGrace,
		dir:      s.FS().PathJoin(s.Dir(), bodiesDir),
		openedAt: s.Clock().Now(),
		ready:    make(map[uint32]bool),
		pins:     make(map[listPin]int),
		uploads:  make(map[segmentKey]*upload),
		dirty:    make(map[kv.Root]bool),
		swept:    make(map[kv.Root]bool),
		loose:    make(map[listPin]uint64),
		kick:     make(chan struct{}, 1),
		stop:     make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	if b.grace == 0 {
		b.grace = DefaultStagingGrace
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if err := b.makeDir(b.dir, s.Dir()); err != nil {
		return nil, err
	}
	roots, _ := s.Roots()
	for _, r := range roots {
		b.dirty[r] = true
	}
	s.RegisterCheck("blob", b.check)
	if o.NoBackground {
		close(b.stopped)
	} else {
		go b.background()
	}
	return b, nil
}

// Close stops the collector. It does not wait for open bodies and uploads;
// their files stay, and what was not published is removed after the next Open.
func (s *Store) Close() error {
	s.stopOnce.Do(func() { close(s.stop) })
	<-s.stopped
	return nil
}

// makeDir makes a directory that is durable when it returns.
func (s *Store) makeDir(dir, parent string) error {
	if err := s.fs.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("blob: making a directory: %w", noSpace(err))
	}
	return s.syncDir(parent)
}

// syncDir makes the names in a directory durable.
func (s *Store) syncDir(dir string) error {
	d, err := s.fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("blob: opening a directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("blob: syncing a directory: %w", noSpace(err))
	}
	return nil
}

func (s *Store) rootDir(root uint32) string {
	return s.fs.PathJoin(s.dir, fmt.Sprintf("%08x", root))
}

func (s *Store) segmentPath(root uint32, id keys.SegmentID) string {
	return s.fs.PathJoin(s.rootDir(root), segmentName(id))
}

// prepareRoot makes the root's directory when this process has not seen it.
func (s *Store) prepareRoot(root uint32) error {
	s.mu.Lock()
	ready := s.ready[root]
	s.mu.Unlock()
	if ready {
		return nil
	}
	// Two callers may both come here; making a directory twice does no harm.
	if err := s.makeDir(s.rootDir(root), s.dir); err != nil {
		return err
	}
	s.mu.Lock()
	s.ready[root] = true
	s.mu.Unlock()
	return nil
}

func (s *Store) pin(root uint32, spans []record.BodySpan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range spans {
		s.pins[listPin{root, span.List}]++
	}
}

func (s *Store) unpin(root uint32, spans []record.BodySpan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range spans {
		p := listPin{root, span.List}
		if s.pins[p]--; s.pins[p] == 0 {
			delete(s.pins, p)
		}
	}
}

func (s *Store) pinned(list listPin) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pins[list] > 0
}

// Freeze keeps every extent and every file that exists from being removed,
// until the returned function is called: what a backup needs while it copies.
// Uploads, appends and readers go on. Calling the function twice does nothing.
func (s *Store) Freeze() (release func()) {
	s.mu.Lock()
	s.frozen++
	s.mu.Unlock()
	// The step that runs now may not have seen it.
	s.stepping.Lock()
	s.stepping.Unlock() //nolint:staticcheck // an empty section: only to wait
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.frozen--
		s.mu.Unlock()
		s.wake()
	})
}

func (s *Store) isFrozen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frozen > 0
}

// DiskBytes returns the size of all files of this package, those of unfinished
// uploads and of what awaits its removal among them. It looks at each.
func (s *Store) DiskBytes() (n int64, err error) { return s.size(s.dir) }

func (s *Store) size(dir string) (n int64, err error) {
	names, err := s.fs.List(dir)
	if oserror.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		path := s.fs.PathJoin(dir, name)
		info, err := s.fs.Stat(path)
		switch {
		case oserror.IsNotExist(err): // removed meanwhile
		case err != nil:
			return 0, err
		case info.IsDir():
			below, err := s.size(path)
			if err != nil {
				return 0, err
			}
			n += below
		default:
			n += info.Size()
		}
	}
	return n, nil
}

// soil notes that there may be something to collect in a root, and wakes the
// collector.
func (s *Store) soil(root kv.Root) {
	s.mu.Lock()
	s.dirty[root] = true
	s.mu.Unlock()
	s.wake()
}

func (s *Store) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// background runs the collector when something became loose, and every
// sweepEvery.
func (s *Store) background() {
	defer close(s.stopped)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-s.stop
		cancel()
	}()
	for failures := 0; ; {
		blocked, err := s.Collect(ctx)
		wait, kick := s.grace/4, s.kick
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			// What is loose stays noted; nothing is lost by trying again. Every upload
			// that fails as well would wake the collector: it is not to be woken.
			wait, kick = min(retryCollect<<min(failures, 10), lastRetry), nil
			failures++
			s.log.Error("collecting loose bodies failed; it is tried again", "wait", wait, "error", err)
		case blocked:
			wait = retryCollect
		}
		if err == nil {
			failures = 0
		}
		timer := s.clk.NewTimer(wait)
		select {
		case <-s.stop:
			timer.Stop()
			return
		case <-kick:
			timer.Stop()
		case <-timer.C():
		}
	}
}

const (
	// retryCollect is when the collector comes back to what it could not remove.
	retryCollect = time.Second
	// lastRetry is how long it waits at most after failures, twice as long each time.
	lastRetry = 30 * time.Second
)
