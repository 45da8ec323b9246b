package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/backup"
	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/jobs"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/operator"
	"github.com/sawhorse-dev/sawhorse/core/timer"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Options say how to open a Core. The zero value of a field means its default.
type Options struct {
	// Dir is the data directory; one process has it open at a time, which is the
	// caller's care.
	Dir string
	// FS holds the files; nil means the machine's disk.
	FS kv.FS
	// Clock defaults to the machine's.
	Clock clock.Clock
	// IDs is where ids and secrets come from; nil means crypto/rand. A test
	// passes a seeded source.
	IDs    io.Reader
	Logger *slog.Logger

	// WorkbenchRoot shapes the paths in answers. It is stored when the directory
	// is first opened; later "" means the stored value, and another one is
	// refused. Default: /agents/default/wb.
	WorkbenchRoot string
	// MaxArtifactBytes bounds what a Workbench tool carries; default 16 MiB.
	MaxArtifactBytes int64
	// MaxBodyBytes bounds a body on the raw file routes; default 1 GiB.
	MaxBodyBytes int64

	// SnapshotGrace is how long after the end of its lease a snapshot can still be
	// renewed; 0 means 30 s, a negative one means no time at all.
	SnapshotGrace time.Duration

	// The store's own; see kv.Options.
	HistoryWindow       time.Duration
	QueueDepth          int
	FreeSpaceFloorBytes int64
	BallastBytes        int64
	CacheBytes          int64
	MemTableBytes       int64
	NoBackground        bool
	Fatal               func(error)

	// Version and Revision are what the program says of itself: its version, and
	// the version-control revision it was built from. An empty Revision is taken
	// from what the Go tool recorded.
	Version, Revision string
	// LifecycleDisabled switches the SDK lifecycle off.
	LifecycleDisabled bool
	// RequirePrincipal refuses calls whose context names nobody. Otherwise they
	// act for Principal.
	RequirePrincipal bool
}

// ErrWorkbenchRoot says that a data directory has another presentation root
// than the one asked for, or that the one asked for is none. The error is a
// *RootError.
var ErrWorkbenchRoot = errors.New("core: workbench root")

// RootError is an ErrWorkbenchRoot, and says in public words why.
type RootError struct{ Why string }

func (e *RootError) Error() string { return "workbench root: " + e.Why }

// Is makes it an ErrWorkbenchRoot.
func (e *RootError) Is(target error) bool { return target == ErrWorkbenchRoot }

// OtherRoot is the refusal of a presentation root that is not the stored one.
func OtherRoot(stored, wanted string) error {
	return &RootError{fmt.Sprintf("the data directory was made with %q, and %q was asked for", stored, wanted)}
}

// NoRoot is the refusal of a presentation root that cannot be one.
func NoRoot(wanted string, why error) error { return &RootError{fmt.Sprintf("%q: %v", wanted, why)} }

// Core is an open data directory. It is safe for concurrent use.
type Core struct {
	kv        *kv.Store
	bodies    *blob.Store
	timers    *timer.Timers
	workbench *workbench.Workbench
	api       *op.API
	principal actor.Principal
	root      jail.Root
	backups   sync.Mutex // held by the one Backup that runs
}

// Report is the outcome of Check.
type Report = kv.Report

// Stats is what a Core counted since it was opened.
type Stats struct {
	KV kv.Stats
}

// Open opens a data directory, and makes it when it is not there. Whatever was
// acknowledged before is in it.
//
// Errors: ErrWorkbenchRoot; those of kv.Open.
func Open(ctx context.Context, o Options) (*Core, error) {
	wanted := jail.Root("")
	if o.WorkbenchRoot != "" {
		var err error
		if wanted, err = jail.ParseRoot(o.WorkbenchRoot); err != nil {
			return nil, NoRoot(o.WorkbenchRoot, err)
		}
	}
	store, err := kv.Open(kv.Options{
		FS: o.FS, Dir: o.Dir, Clock: o.Clock, IDs: o.IDs, HistoryWindow: o.HistoryWindow, QueueDepth: o.QueueDepth,
		FreeSpaceFloorBytes: o.FreeSpaceFloorBytes, BallastBytes: o.BallastBytes, Logger: o.Logger, Fatal: o.Fatal,
		NoBackground: o.NoBackground, CacheBytes: o.CacheBytes, MemTableBytes: o.MemTableBytes,
	})
	if err != nil {
		return nil, err
	}
	c := &Core{kv: store}
	if err := backup.Sweep(store); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.open(ctx, o, wanted); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Core) open(ctx context.Context, o Options, wanted jail.Root) (err error) {
	if c.bodies, err = blob.Open(c.kv, blob.Options{Logger: o.Logger, NoBackground: o.NoBackground}); err != nil {
		return err
	}
	workbench.Govern(c.bodies)
	settings, err := loadSettings(ctx, c.kv, wanted)
	if err != nil {
		return err
	}
	c.root = settings.root
	c.principal = actor.Principal{Tenant: c.kv.TenantID(), User: loopbackUser}
	c.timers = timer.Open(c.kv, timer.Options{Logger: o.Logger})
	wo := workbench.Options{
		Store: c.kv, Bodies: c.bodies, Timers: c.timers, Root: settings.root, CursorKey: settings.cursorKey,
		MaxArtifactBytes: o.MaxArtifactBytes, MaxBodyBytes: o.MaxBodyBytes,
		SnapshotGrace: o.SnapshotGrace,
	}
	if !o.RequirePrincipal {
		wo.Principal = &c.principal
	}
	w, err := workbench.New(wo)
	if err != nil {
		return err
	}
	c.workbench = w
	revision := o.Revision
	if revision == "" {
		revision = operator.BuildRevision()
	}
	c.api = &op.API{
		Workbench: w,
		Files:     w,
		Jobs:      jobs.New(jobs.Options{Clock: c.kv.Clock(), Version: o.Version, Disabled: o.LifecycleDisabled}),
		Operator:  operator.New(operator.Options{Clock: c.kv.Clock(), Revision: revision}),
	}
	// Only now does everything that may go off have its handler.
	if !o.NoBackground {
		c.timers.Start()
		w.Start(cmp.Or(o.Logger, slog.New(slog.DiscardHandler)))
	}
	return nil
}

// loopbackUser is the user that a caller without credentials is.
const loopbackUser = "1"

// API returns the operations. The value is not changed afterwards.
func (c *Core) API() *op.API { return c.api }

// Principal returns who a caller over loopback without credentials is: the
// tenant that was minted with the data directory, and user "1".
func (c *Core) Principal() actor.Principal { return c.principal }

// TenantID returns the UUID of the tenant that was minted with the data
// directory.
func (c *Core) TenantID() [16]byte { return c.kv.TenantID() }

// WorkbenchRoot returns the presentation root.
func (c *Core) WorkbenchRoot() string { return string(c.root) }

// InstallationID returns the UUID that was minted with the data directory.
func (c *Core) InstallationID() [16]byte { return c.kv.InstallationID() }

// Check verifies every registered invariant on one state of the store, while
// calls go on. The error is that of the context.
func (c *Core) Check(ctx context.Context) (Report, error) {
	report := c.kv.Check(ctx)
	return report, ctx.Err()
}

// ErrBusy says that another backup of the same directory is being made.
var ErrBusy = errors.New("core: a backup of this data directory is being made already")

// Backup copies the data directory to a new directory below o.Dest while calls
// go on; see backup.Write. One runs at a time.
//
// Errors: ErrBusy; those of backup.Write.
func (c *Core) Backup(ctx context.Context, o backup.Options) (backup.Result, error) {
	if !c.backups.TryLock() {
		return backup.Result{}, ErrBusy
	}
	defer c.backups.Unlock()
	return backup.Write(ctx, c.kv, c.bodies, o)
}

// Stats returns figures for metrics. It takes a few microseconds.
func (c *Core) Stats() Stats { return Stats{KV: c.kv.Stats()} }

// Close waits for the calls that are inside the store and closes it. What was
// acknowledged stays; calls that come later fail.
func (c *Core) Close() error {
	var err error
	if c.timers != nil {
		err = c.timers.Close()
	}
	if c.workbench != nil {
		err = errors.Join(err, c.workbench.Close())
	}
	if c.bodies != nil {
		err = errors.Join(err, c.bodies.Close())
	}
	return errors.Join(err, c.kv.Close())
}
