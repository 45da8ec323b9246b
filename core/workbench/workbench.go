package workbench

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/timer"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Area is the name under which this package registers its roots: one for each
// tenant. Part of the store's format.
const Area = "workbench"

// rootName names a tenant's only root. Part of the store's format.
const rootName = "default"

// Options say what a Workbench stands on. Store, Bodies, Timers, Root and
// CursorKey are required.
type Options struct {
	Store  *kv.Store
	Bodies *blob.Store
	// Timers have not been started: New adds the handlers of this package.
	Timers *timer.Timers
	// Root is the presentation root; it shapes answers and identifies nothing.
	Root jail.Root
	// CursorKey authenticates list cursors; it stays the same over restarts.
	CursorKey []byte
	// MaxArtifactBytes bounds what a tool carries or loads; 0 means 16 MiB.
	MaxArtifactBytes int64
	// MaxBodyBytes bounds a body that StoreFile takes; 0 means 1 GiB.
	MaxBodyBytes int64
	// SnapshotGrace is how long after the end of its lease a snapshot can still be
	// renewed; 0 means 30 s, a negative one means no time at all.
	SnapshotGrace time.Duration
	// Principal is who a call acts for when its context names nobody; nil refuses
	// such a call.
	Principal *actor.Principal
}

// Workbench implements op.Workbench and op.Files.
type Workbench struct {
	o       Options
	store   *kv.Store
	bodies  *blob.Store
	timers  *timer.Timers
	root    jail.Root
	tenants sync.Map // [16]byte -> *tenant
	loads   *semaphore.Weighted
	slow    slowLane
	care    care
	grep    grepBudget
	sparse  sparsePages
	greps   gate
	finds   gate
	queries gate
	// searches is what is kept of searches that may go on.
	searches searchCache
	// snapshotList is how many bytes of records a list of snapshots has.
	snapshotList int64
	commits      flights[flightKey, *op.WorkbenchCommitResult]
	restores     flights[restoreKey, *op.WorkbenchRestoreResult]
	// pacer measures how long work takes that leaves room for others. It is the
	// machine's clock, whatever the store's is: a processor is busy in real time.
	pacer clock.Clock
	// paced says that long work leaves room for other calls; left that some is
	// unfinished.
	paced, left atomic.Bool
	// onStep is told of the steps of long operations; tests set it.
	onStep func(step string)
}

var (
	_ op.Workbench = (*Workbench)(nil)
	_ op.Files     = (*Workbench)(nil)
)

// loadBudgetBytes bounds what structured reads and edits hold in memory at one
// time, all calls together.
const loadBudgetBytes = 64 << 20

// Govern tells core/blob which rows of this package embed bodies. It is called
// once, before the store's first update.
func Govern(b *blob.Store) {
	b.Govern(keys.SpacePathRecord, bodiesOf)
	b.Govern(keys.SpaceCommit, func(value []byte) ([]record.Body, error) {
		c, err := record.DecodeCommit(value)
		return []record.Body{c.Envelope}, err
	})
	b.Govern(keys.SpaceCommitOperation, func(value []byte) ([]record.Body, error) {
		o, err := record.DecodeCommitOperation(value)
		return []record.Body{o.Body}, err
	})
	b.Govern(keys.SpaceRestoreOperation, func(value []byte) ([]record.Body, error) {
		o, err := record.DecodeRestoreOperation(value)
		return []record.Body{o.Body}, err
	})
}

// New returns the Workbench of a store, registers its checks there and its
// handlers with the timers.
func New(o Options) (*Workbench, error) {
	if len(o.CursorKey) < 16 {
		return nil, errors.New("workbench: the cursor key is too short")
	}
	if o.Timers == nil {
		return nil, errors.New("workbench: no timers")
	}
	o.MaxArtifactBytes = cmp.Or(o.MaxArtifactBytes, op.LimitMaxArtifactBytes)
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, op.LimitDefaultMaxBodyBytes)
	o.SnapshotGrace = max(0, cmp.Or(o.SnapshotGrace, time.Duration(op.LimitSnapshotGraceSeconds)*time.Second))
	w := &Workbench{o: o, store: o.Store, bodies: o.Bodies, timers: o.Timers, root: o.Root, loads: semaphore.NewWeighted(loadBudgetBytes)}
	w.pacer = clock.System()
	w.snapshotList = op.LimitSnapshotListMaxBytes
	w.grep = grepBudget{op.LimitGrepMaxCandidates, op.LimitGrepMaxFiles, op.LimitGrepMaxBytes}
	w.greps = newGate(op.LimitCrawlMaxRunning, op.LimitCrawlMaxWaiting, "Too many calls of grep are running; try again shortly.")
	w.finds = newGate(op.LimitCrawlMaxRunning, op.LimitCrawlMaxWaiting, "Too many calls of find are running; try again shortly.")
	w.queries = newGate(op.LimitCrawlMaxRunning, op.LimitCrawlMaxWaiting, "Too many calls of search, aggregate and catalog are running; try again shortly.")
	w.timers.Handle(timerSnapshot, w.snapshotDue)
	w.timers.Handle(timerCrawl, w.crawlDue)
	w.care.begin()
	o.Store.RegisterCheck("workbench", w.check)
	return w, nil
}

// bodiesOf tells core/blob which body a path record refers to.
func bodiesOf(value []byte) ([]record.Body, error) {
	f, err := record.DecodeFile(value)
	if err != nil {
		return nil, err
	}
	return []record.Body{f.Body}, nil
}

// tenant is the workbenches of one tenant.
type tenant struct {
	root kv.Root

	mu sync.RWMutex
	// living remembers markers that are durable. A marker never changes (WB-2),
	// so what is in here holds at its revision and at every later one.
	living map[string]life

	countMu   sync.Mutex // guards what follows
	countedAt time.Time  // when the workbenches were counted last
	count     int64

	crawls crawlHolds
}

// life is what a marker says, and the revision that wrote it.
type life struct {
	incarnation keys.Incarnation
	since       kv.Revision
}

// maxLiving bounds the memory of markers, in workbenches per tenant.
const maxLiving = 1 << 16

// tenant finds whose workbenches a call is about.
func (w *Workbench) tenant(ctx context.Context) (*tenant, error) {
	p, ok := actor.From(ctx)
	if !ok {
		if w.o.Principal == nil {
			return nil, fault.New(op.ReasonInternal, "").Because(errors.New("workbench: a call without a principal"))
		}
		p = *w.o.Principal
	}
	if t, ok := w.tenants.Load(p.Tenant); ok {
		return t.(*tenant), nil
	}
	root, err := w.store.Root(ctx, Area, hex.EncodeToString(p.Tenant[:]), rootName)
	if err != nil {
		return nil, err
	}
	t, _ := w.tenants.LoadOrStore(p.Tenant, &tenant{root: root, living: make(map[string]life)})
	return t.(*tenant), nil
}

// tenantOf returns the tenant of a registered root of this area.
func (w *Workbench) tenantOf(root kv.Root, name kv.RootName) (*tenant, error) {
	id, err := hex.DecodeString(name.Tenant)
	if err != nil || len(id) != 16 {
		return nil, corrupt(errors.New("workbench: a root of no tenant"))
	}
	t, _ := w.tenants.LoadOrStore([16]byte(id), &tenant{root: root, living: make(map[string]life)})
	return t.(*tenant), nil
}

// pause marks a step of a long operation.
func (w *Workbench) pause(step string) {
	if w.onStep != nil {
		w.onStep(step)
	}
}

func (t *tenant) known(id string) (life, bool) {
	t.mu.RLock()
	l, ok := t.living[id]
	t.mu.RUnlock()
	return l, ok
}

// learn remembers a marker. It is called once the marker is durable.
func (t *tenant) learn(id string, l life) {
	t.mu.Lock()
	if len(t.living) >= maxLiving {
		clear(t.living)
	}
	t.living[strings.Clone(id)] = l // a request's strings share memory with all of it
	t.mu.Unlock()
}

// find returns what the marker of id says, if there is one. Found in a Tx, it may
// not be durable yet.
func (t *tenant) find(r kv.Reader, id string) (life, bool, error) {
	if l, ok := t.known(id); ok && l.since <= r.Revision() {
		return l, true, nil
	}
	value, ok, err := r.Get(keys.AppendWorkbenchMarker(nil, t.root.ID(), id))
	if err != nil || !ok {
		return life{}, false, err
	}
	marker, err := record.DecodeWorkbench(value.Bytes)
	if err != nil {
		return life{}, false, corrupt(err)
	}
	return life{marker.Incarnation, value.Rev}, true, nil
}

// see is find in a View, where whatever is found is durable and kept in mind.
func (t *tenant) see(v *kv.View, id string) (keys.Incarnation, bool, error) {
	if l, ok := t.known(id); ok && l.since <= v.Revision() {
		return l.incarnation, true, nil
	}
	l, ok, err := t.find(v, id)
	if err != nil || !ok {
		return keys.Incarnation{}, false, err
	}
	t.learn(id, l)
	return l.incarnation, true, nil
}

// mint makes the incarnation of a workbench that a call may be about to create.
// It runs before the update, whose closure has no effects but its writes.
func (w *Workbench) mint(t *tenant, id string) (in keys.Incarnation, err error) {
	if _, ok := t.known(id); ok {
		return in, nil
	}
	if _, err := io.ReadFull(w.store.IDs(), in[:]); err != nil {
		return in, fault.New(op.ReasonInternal, "").Because(err)
	}
	return in, nil
}

// begin writes the rows of a new, empty workbench.
func (t *tenant) begin(tx *kv.Tx, id string, in keys.Incarnation) {
	writeHead(tx, t.root.ID(), in)
	tx.Put(keys.AppendWorkbenchMarker(nil, t.root.ID(), id),
		record.AppendWorkbench(nil, record.Workbench{Incarnation: in, CreatedMillis: tx.Now().UnixMilli()}))
}

// writeHead raises the content revision (WB-4).
func writeHead(tx *kv.Tx, root uint32, in keys.Incarnation) {
	var key [64]byte
	var value [16]byte
	tx.Put(keys.AppendWorkbenchHead(key[:0], root, in),
		record.AppendWorkbenchHead(value[:0], record.WorkbenchHead{ContentRevision: uint64(tx.Revision())}))
}

// head reads the content revision of a workbench that exists.
func (t *tenant) head(r kv.Reader, in keys.Incarnation) (record.WorkbenchHead, error) {
	value, ok, err := r.Get(keys.AppendWorkbenchHead(nil, t.root.ID(), in))
	if err != nil {
		return record.WorkbenchHead{}, err
	}
	if !ok {
		return record.WorkbenchHead{}, corrupt(errors.New("workbench: an incarnation without a head (WB-2)"))
	}
	h, err := record.DecodeWorkbenchHead(value.Bytes)
	if err != nil {
		return record.WorkbenchHead{}, corrupt(err)
	}
	return h, nil
}

// file reads the record at a full path. Its body aliases memory of the View or
// Tx that it was read in.
func (t *tenant) file(r kv.Reader, in keys.Incarnation, full string) (record.File, bool, error) {
	s := scratches.Get().(*scratch)
	s.key = keys.AppendPathRecord(s.key[:0], t.root.ID(), in, full)
	value, ok, err := r.Get(s.key)
	scratches.Put(s)
	if err != nil || !ok {
		return record.File{}, false, err
	}
	f, err := record.DecodeFile(value.Bytes)
	if err != nil {
		return record.File{}, false, corrupt(err)
	}
	return f, true, nil
}

// below reports whether anything is stored strictly below a full path.
func (t *tenant) below(r kv.Reader, in keys.Incarnation, full string) (bool, error) {
	lower := keys.AppendPathInside(keys.AppendPathRecords(nil, t.root.ID(), in), full)
	// The path's own record begins like this too, and then ends; what is below
	// goes on with a byte that is not the separator.
	lower = append(lower, 0x01)
	it := r.Scan(lower, keys.AppendEnd(nil, lower[:len(lower)-1]), kv.ScanOptions{Limit: 1})
	defer func() { _ = it.Close() }()
	return it.Next(), it.Err()
}
