package workbench

import (
	"context"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// SnapshotList gives the snapshots that were taken of a workbench, by id. The
// tool has no pages: when they do not fit into one answer, those that are over are
// left out first, the oldest before the others (WB-37). The count is of all.
func (w *Workbench) SnapshotList(ctx context.Context, req *op.WorkbenchSnapshotListRequest) (*op.WorkbenchSnapshotListResult, error) {
	if err := jail.CheckID(req.ID); err != nil {
		return nil, named(err)
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	list := snapshotLister{budget: w.snapshotList}
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
		in, ok, err := t.see(v, req.ID)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(op.ReasonWBSnapshotNotFound, "No workbench has this id; workbench_create makes one.")
		}
		now := w.store.Now()
		lower := keys.AppendSnapshots(nil, t.root.ID(), in)
		it := v.Scan(lower, keys.AppendEnd(nil, lower), kv.ScanOptions{})
		defer func() { _ = it.Close() }()
		for it.Next() {
			if list.count%checkEvery == 0 && ctx.Err() != nil {
				return fault.From(context.Cause(ctx))
			}
			_, _, id, err := keys.CutSnapshot(it.Key())
			if err != nil {
				return corrupt(err)
			}
			s, err := record.DecodeSnapshot(it.Value().Bytes)
			if err != nil {
				return corrupt(err)
			}
			state, err := w.stateOf(v, t, in, id, &s, now)
			if err != nil {
				return err
			}
			list.add(op.WorkbenchSnapshotRecord{
				SnapshotID: int64(id), Name: s.Name, ReadVersion: int64(s.Revision), LeaseExpiresAt: s.DeadlineMillis, LeaseExpiresUnixMs: s.DeadlineMillis,
				Annotation: annotation(s.Annotation), State: state, RetireAnnotation: retireAnnotation(&s),
			})
		}
		return it.Err()
	})
	if err != nil {
		return nil, err
	}
	return &op.WorkbenchSnapshotListResult{WorkbenchID: req.ID, Path: w.root.Workbench(req.ID), SnapshotCount: list.count, Snapshots: list.rows()}, nil
}

// snapshotLister takes records in the order of their ids, and keeps what fits.
type snapshotLister struct {
	budget int64
	count  int64
	// over are snapshots that have ended, standing the others.
	over, standing snapshotQueue
	scratch        []byte
}

// snapshotQueue are records in the order of ids, of which the first go.
type snapshotQueue struct {
	rows  []op.WorkbenchSnapshotRecord
	sizes []int64
	bytes int64
}

func (l *snapshotLister) add(r op.WorkbenchSnapshotRecord) {
	l.count++
	l.scratch = r.AppendJSON(l.scratch[:0])
	size, to := int64(len(l.scratch))+1, &l.standing
	if r.State == stateRetired || r.State == stateReaped {
		to = &l.over
	}
	to.rows, to.sizes, to.bytes = append(to.rows, r), append(to.sizes, size), to.bytes+size
	for l.over.bytes+l.standing.bytes > l.budget {
		if len(l.over.rows) > 0 {
			l.over.drop()
		} else {
			l.standing.drop() // there is one: what came last is in one of them
		}
	}
}

func (q *snapshotQueue) drop() {
	q.bytes -= q.sizes[0]
	q.rows[0] = op.WorkbenchSnapshotRecord{} // what it refers to goes at once, its place when the rest moves
	q.rows, q.sizes = q.rows[1:], q.sizes[1:]
}

// rows are the records that are kept, by id.
func (l *snapshotLister) rows() []op.WorkbenchSnapshotRecord {
	all := make([]op.WorkbenchSnapshotRecord, 0, len(l.over.rows)+len(l.standing.rows))
	all = append(append(all, l.over.rows...), l.standing.rows...)
	slices.SortFunc(all, func(a, b op.WorkbenchSnapshotRecord) int { return int(a.SnapshotID - b.SnapshotID) })
	return all
}

// retireAnnotation is what was said when a snapshot was retired, or nil.
func retireAnnotation(s *record.Snapshot) *op.WorkbenchAnnotation {
	if s.Retirement == nil {
		return nil
	}
	return &op.WorkbenchAnnotation{Reason: s.Retirement}
}
