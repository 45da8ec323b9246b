package workbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// A step of copying or removing has so many files and bytes of rows at most: it
// is one turn among those of other callers, and they do not notice it.
const (
	restoreStepFiles = 80
	restoreStepBytes = 128 << 10
	// restoreStepTime is what a step takes at least: the disk and the processors are
	// left to others for the rest of it.
	restoreStepTime = 4 * time.Millisecond
)

// errRestoreChanged says that somebody else wrote what only the one who carries
// out a restore writes.
var errRestoreChanged = errors.New("workbench: a restore changed under its only writer (WB-33)")

// restorePage is the files of one step, with all the rows that the destination
// gets of them. It is made outside of the turn.
type restorePage struct {
	after   string // the last path
	last    bool   // nothing comes after it
	tree    [32]byte
	members uint64
	copied  uint64
	rows    []restoreRow
}

type restoreRow struct{ key, value []byte }

// copyRestore copies the rows of the source's files, step by step from where the
// operation says that it has come (WB-32).
//
// The record of a file is copied as it is: generation, instant, type, what was
// said about it, and the body by reference. The index rows are the destination's
// own. Nothing of it shows, for no marker names the incarnation.
func (w *Workbench) copyRestore(ctx context.Context, t *tenant, o *record.RestoreOperation) error {
	for o.State == record.RestoreCopying {
		began := w.pacer.Now()
		p, err := w.readRestorePage(ctx, t, o)
		if err != nil {
			return err
		}
		taken := false
		err = w.store.UpdateBackground(ctx, t.root, func(tx *kv.Tx) error {
			taken = false
			now, err := t.sameRestore(tx, o)
			if err != nil {
				return err
			}
			if _, taken, err = t.find(tx, o.Destination); err != nil || taken {
				return err
			}
			for _, row := range p.rows {
				if now.Again {
					tx.Put(row.key, row.value)
				} else {
					tx.Insert(row.key, row.value)
				}
			}
			now.After, now.Tree, now.Members, now.Copied = p.after, p.tree, p.members, p.copied
			if p.last {
				now.State = record.RestoreCopied
			}
			writeHead(tx, t.root.ID(), o.DestinationIncarnation)
			t.putRestore(tx, now)
			return nil
		})
		if err != nil {
			return err
		}
		if taken {
			return fault.New(op.ReasonWBRestoreConflict, "")
		}
		o.After, o.Tree, o.Members, o.Copied = p.after, p.tree, p.members, p.copied
		if p.last {
			o.State = record.RestoreCopied
		}
		w.pause("restore step")
		if p.last {
			return nil
		}
		if err := w.pace(ctx, began); err != nil {
			return err
		}
	}
	return nil
}

// pace waits until a step that began at an instant has taken its time. A step that
// waited for others has taken it already.
func (w *Workbench) pace(ctx context.Context, began time.Time) error {
	rest := restoreStepTime - w.pacer.Now().Sub(began)
	if ctx.Err() != nil {
		return fault.From(context.Cause(ctx))
	}
	if !w.paced.Load() || rest <= 0 {
		return nil
	}
	timer := w.pacer.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fault.From(context.Cause(ctx))
	case <-timer.C():
		return nil
	}
}

// readRestorePage reads the next files of the source at the revision that is
// restored, and makes the rows of the destination.
func (w *Workbench) readRestorePage(ctx context.Context, t *tenant, o *record.RestoreOperation) (*restorePage, error) {
	root := t.root.ID()
	prefix := keys.AppendPathRecords(nil, root, o.SourceIncarnation)
	from := prefix
	if o.After != "" {
		from = append(keys.AppendPathRecord(nil, root, o.SourceIncarnation, o.After), 0)
	}
	h := treeHash{sum: o.Tree, members: o.Members}
	p := &restorePage{after: o.After, last: true, copied: o.Copied, rows: make([]restoreRow, 0, 5*restoreStepFiles)}
	err := w.store.ViewAt(ctx, t.root, kv.Revision(o.Frozen), func(v *kv.View) error {
		it := v.Scan(from, keys.AppendEnd(nil, prefix), kv.ScanOptions{})
		defer func() { _ = it.Close() }()
		files, size := 0, 0
		for it.Next() {
			if files == restoreStepFiles || size >= restoreStepBytes {
				p.last = false
				break
			}
			_, _, path, err := keys.CutPathRecord(it.Key())
			if err != nil {
				return corrupt(err)
			}
			value := append([]byte(nil), it.Value().Bytes...)
			f, err := record.DecodeFile(value)
			if err != nil {
				return corrupt(err)
			}
			h.add(path, &f)
			files++
			p.after = path
			if jail.Reserved(path) {
				continue
			}
			p.copied++
			key := keys.AppendPathRecord(nil, root, o.DestinationIncarnation, path)
			p.rows = append(p.rows, restoreRow{key, value})
			size += len(key) + len(value)
			for _, key := range indexRows(root, o.Destination, o.DestinationIncarnation, path, &f) {
				p.rows = append(p.rows, restoreRow{key, nil})
				size += len(key)
			}
		}
		return it.Err()
	})
	if errors.Is(err, kv.ErrBelowFloor) {
		return nil, corrupt(fmt.Errorf("workbench: nothing keeps what a restore reads (WB-33): %w", err))
	}
	p.tree, p.members = h.sum, h.members
	return p, err
}

// sameRestore reads the operation in an update, and refuses when it is not as its
// only writer left it.
func (t *tenant) sameRestore(tx *kv.Tx, o *record.RestoreOperation) (record.RestoreOperation, error) {
	now, ok, err := t.restoreOperation(tx, operationID(&o.Restore))
	if err != nil {
		return now, err
	}
	if !ok || now.Restore != o.Restore || now.State != o.State || now.After != o.After || now.Members != o.Members || now.Tree != o.Tree ||
		now.Body.SHA256 != o.Body.SHA256 || now.Body.Length != o.Body.Length {
		return now, corrupt(errRestoreChanged)
	}
	return now, nil
}

func (t *tenant) putRestore(tx *kv.Tx, o record.RestoreOperation) {
	tx.Put(keys.AppendRestoreOperation(nil, t.root.ID(), operationID(&o.Restore)), record.AppendRestoreOperation(nil, o))
}

// abandonRestore gives a restore up: what it consumed is free at once, and its
// rows go in the steps that follow (WB-33).
func (w *Workbench) abandonRestore(ctx context.Context, t *tenant, o *record.RestoreOperation) error {
	err := w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		now, err := t.sameRestore(tx, o)
		if err != nil {
			return err
		}
		now.State = record.RestoreAborting
		t.putRestore(tx, now)
		return w.freeSource(tx, t, &now.Restore)
	})
	if err != nil {
		return err
	}
	o.State = record.RestoreAborting
	w.pause("restore abandoned")
	return w.clearRestore(ctx, t, o)
}

// freeSource ends what a restore keeps of its source: a snapshot's consumer. A
// commit keeps itself.
func (w *Workbench) freeSource(tx *kv.Tx, t *tenant, o *record.Restore) error {
	if o.Kind != record.RestoreSnapshot {
		return nil
	}
	dropped, err := w.dropConsumer(tx, t, o.SourceIncarnation, o.Snapshot, operationID(o))
	if err == nil && !dropped {
		err = corrupt(errors.New("workbench: a restore that did not consume its snapshot (WB-33)"))
	}
	return err
}

// clearRestore removes what an abandoned restore has copied, and then the
// operation. The head of the incarnation stays: it says that keys of it had
// versions before.
func (w *Workbench) clearRestore(ctx context.Context, t *tenant, o *record.RestoreOperation) error {
	for {
		rows, err := w.stagedRows(ctx, t, o)
		if err != nil {
			return err
		}
		err = w.store.UpdateBackground(ctx, t.root, func(tx *kv.Tx) error {
			if _, err := t.sameRestore(tx, o); err != nil {
				return err
			}
			for _, key := range rows {
				tx.Delete(key)
			}
			if len(rows) == 0 {
				tx.Delete(keys.AppendRestoreOperation(nil, t.root.ID(), operationID(&o.Restore)))
			}
			return nil
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		w.pause("restore step")
	}
}

// stagedRows returns the keys of the rows of some files of the destination.
func (w *Workbench) stagedRows(ctx context.Context, t *tenant, o *record.RestoreOperation) (rows [][]byte, err error) {
	lower := keys.AppendPathRecords(nil, t.root.ID(), o.DestinationIncarnation)
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
		it := v.Scan(lower, keys.AppendEnd(nil, lower), kv.ScanOptions{Limit: restoreStepFiles})
		defer func() { _ = it.Close() }()
		for size := 0; size < restoreStepBytes && it.Next(); {
			_, in, path, err := keys.CutPathRecord(it.Key())
			if err != nil {
				return corrupt(err)
			}
			f, err := record.DecodeFile(it.Value().Bytes)
			if err != nil {
				return corrupt(err)
			}
			of := append(indexRows(t.root.ID(), o.Destination, in, path, &f), append([]byte(nil), it.Key()...))
			for _, key := range of {
				size += len(key)
			}
			rows = append(rows, of...)
		}
		return it.Err()
	})
	return rows, err
}
