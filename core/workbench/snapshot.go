package workbench

import (
	"context"
	"strconv"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

const day = 24 * time.Hour

// Snapshot freezes the present files of a committed workbench under a lease. It
// copies nothing: its cost does not depend on how many files there are. Every
// call mints a new snapshot, and the newest one with a name owns the name.
func (w *Workbench) Snapshot(ctx context.Context, req *op.WorkbenchSnapshotRequest) (*op.WorkbenchSnapshotResult, error) {
	if err := jail.CheckID(req.ID); err != nil {
		return nil, named(err)
	}
	if req.Name != nil {
		if err := checkSnapshotName("$.name", *req.Name); err != nil {
			return nil, err
		}
	}
	days, err := leaseDays(req.TtlDays)
	if err != nil {
		return nil, err
	}
	said, err := parseAnnotation(req.Reason, req.Metadata)
	if err != nil {
		return nil, err
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	var id uint64
	var s record.Snapshot
	err = w.store.Update(ctx, t.root, func(tx *kv.Tx) (err error) {
		s = record.Snapshot{State: record.SnapshotActive, Name: req.Name, Annotation: said}
		s.MintedMillis = tx.Now().UnixMilli()
		s.DeadlineMillis = tx.Now().Add(time.Duration(days) * day).UnixMilli()
		id, err = w.mintSnapshot(tx, t, req.ID, &s)
		return err
	})
	if err != nil {
		return nil, err
	}
	res := &op.WorkbenchSnapshotResult{
		WorkbenchID: req.ID, Path: w.root.Workbench(req.ID), SnapshotID: int64(id), Name: req.Name, ReadVersion: int64(s.Revision),
		LeaseExpiresAt: s.DeadlineMillis, LeaseExpiresUnixMs: s.DeadlineMillis, Annotation: annotation(s.Annotation), State: stateAlive, TtlDays: days,
	}
	if req.TtlDays == nil {
		warning := "ttl_days was left out, so the snapshot expires after " + strconv.Itoa(int(days)) + " days; workbench_snapshot_renew extends it."
		res.ExpiryWarning = &warning
	}
	return res, nil
}

// mintSnapshot writes the rows of a new snapshot of the state that this update
// leaves behind (WB-11, WB-12, WB-13, WB-14), and fills in the rest of s.
func (w *Workbench) mintSnapshot(tx *kv.Tx, t *tenant, workbench string, s *record.Snapshot) (id uint64, err error) {
	l, ok, err := t.find(tx, workbench)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, noWorkbench(jail.Place{ID: workbench})
	}
	in := l.incarnation
	commit, ok, err := t.commitHead(tx, in)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, fault.New(op.ReasonWBNotCommitted, "").With("workbench_id", workbench)
	}
	head, err := t.head(tx, in)
	if err != nil {
		return 0, err
	}
	if id, err = t.nextSnapshot(tx); err != nil {
		return 0, err
	}
	s.Revision, s.ContentRevision = uint64(tx.Revision()), head.ContentRevision
	s.CommitGeneration, s.CommitIdentity = commit.Generation, commit.Identity
	hold, err := tx.HoldWithin(keys.AppendPathRecords(nil, t.root.ID(), in), holdSnapshot, keys.AppendSnapshot(nil, t.root.ID(), in, id))
	if err != nil {
		return 0, err
	}
	s.Hold = uint64(hold)
	t.putSnapshot(tx, in, id, *s)
	if s.Name != nil {
		tx.Put(keys.AppendSnapshotAlias(nil, t.root.ID(), in, *s.Name), record.AppendSnapshotAlias(nil, record.SnapshotAlias{ID: id}))
	}
	return id, w.arm(tx, t, in, id, s)
}

// nextSnapshot takes the next snapshot id of the root (WB-11).
func (t *tenant) nextSnapshot(tx *kv.Tx) (uint64, error) {
	key := keys.AppendSnapshotSerial(nil, t.root.ID())
	value, ok, err := tx.Get(key)
	if err != nil {
		return 0, err
	}
	var serial record.SnapshotSerial
	if ok {
		if serial, err = record.DecodeSnapshotSerial(value.Bytes); err != nil {
			return 0, corrupt(err)
		}
	}
	serial.Last++
	tx.Put(key, record.AppendSnapshotSerial(nil, serial))
	return serial.Last, nil
}

// SnapshotRenew moves the end of a snapshot's lease to ttl_days from now, never
// to an earlier instant. An expired snapshot lives again as long as it is not
// reaped.
func (w *Workbench) SnapshotRenew(ctx context.Context, req *op.WorkbenchSnapshotRenewRequest) (*op.WorkbenchSnapshotRenewResult, error) {
	if err := jail.CheckID(req.ID); err != nil {
		return nil, named(err)
	}
	sel, err := snapshotSelector(req.SnapshotID, req.Name)
	if err != nil {
		return nil, err
	}
	days, err := leaseDays(req.TtlDays)
	if err != nil {
		return nil, err
	}
	res := &op.WorkbenchSnapshotRenewResult{WorkbenchID: req.ID, Path: w.root.Workbench(req.ID), State: stateAlive, TtlDays: days, Renewed: true}
	err = w.changeSnapshot(ctx, req.ID, sel, func(tx *kv.Tx, t *tenant, in keys.Incarnation, id uint64, s *record.Snapshot, state string) error {
		switch state {
		case stateRetired:
			return fault.New(op.ReasonWBSnapshotEnded, "The snapshot was retired, for good; take a new one.")
		case stateReaped:
			return fault.New(op.ReasonWBSnapshotExpired, "The snapshot's lease ran out too long ago to be renewed; take a new one.")
		}
		if deadline := tx.Now().Add(time.Duration(days) * day).UnixMilli(); deadline > s.DeadlineMillis {
			s.DeadlineMillis = deadline
			t.putSnapshot(tx, in, id, *s)
			if err := w.arm(tx, t, in, id, s); err != nil {
				return err
			}
		}
		res.SnapshotID, res.Name, res.ReadVersion = int64(id), s.Name, int64(s.Revision)
		res.LeaseExpiresAt, res.LeaseExpiresUnixMs, res.Annotation = s.DeadlineMillis, s.DeadlineMillis, annotation(s.Annotation)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// SnapshotRetire ends a snapshot before its time. Repeated, or too late, it
// changes nothing and says so.
func (w *Workbench) SnapshotRetire(ctx context.Context, req *op.WorkbenchSnapshotRetireRequest) (*op.WorkbenchSnapshotRetireResult, error) {
	if err := jail.CheckID(req.ID); err != nil {
		return nil, named(err)
	}
	sel, err := snapshotSelector(req.SnapshotID, req.Name)
	if err != nil {
		return nil, err
	}
	if _, err := parseAnnotation(req.Reason, nil); err != nil {
		return nil, err
	}
	res := &op.WorkbenchSnapshotRetireResult{WorkbenchID: req.ID, Path: w.root.Workbench(req.ID)}
	err = w.changeSnapshot(ctx, req.ID, sel, func(tx *kv.Tx, t *tenant, in keys.Incarnation, id uint64, s *record.Snapshot, state string) error {
		res.Retired = state == stateAlive || state == stateExpired
		if res.Retired {
			consumed, err := t.consumed(tx, in, id)
			if err != nil {
				return err
			}
			if consumed {
				return fault.New(op.ReasonWBForkRetentionActive, "")
			}
			s.Retirement, state = req.Reason, stateRetired
			if err := w.end(tx, t, in, id, s, record.SnapshotRetired); err != nil {
				return err
			}
		}
		res.SnapshotID, res.Name, res.State, res.RetireAnnotation = int64(id), s.Name, state, retireAnnotation(s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// changeSnapshot runs fn in an update, with a snapshot and the state in which the
// update finds it.
//
// Errors: SnapshotNotFound, also when there is no such workbench.
func (w *Workbench) changeSnapshot(ctx context.Context, workbench string, sel op.IntOrString,
	fn func(tx *kv.Tx, t *tenant, in keys.Incarnation, id uint64, s *record.Snapshot, state string) error) error {
	t, err := w.tenant(ctx)
	if err != nil {
		return err
	}
	return w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		l, ok, err := t.find(tx, workbench)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(op.ReasonWBSnapshotNotFound, "")
		}
		in := l.incarnation
		id, s, ok, err := t.snapshotFor(tx, in, sel)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(op.ReasonWBSnapshotNotFound, "")
		}
		state, err := w.stateOf(tx, t, in, id, &s, tx.Now())
		if err != nil {
			return err
		}
		return fn(tx, t, in, id, &s, state)
	})
}
