package workbench

import (
	"context"
	"encoding/hex"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Restore makes a new workbench out of the files of a snapshot or a commit. No
// body is copied and the source stays as it is. The destination appears whole, in
// one revision, or not at all; the same call made again gets the first answer
// (WB-30). What was begun comes to its end when the caller has left, or after a
// crash.
func (w *Workbench) Restore(ctx context.Context, req *op.WorkbenchRestoreRequest) (*op.WorkbenchRestoreResult, error) {
	q, err := w.newRestore(req)
	if err != nil {
		return nil, err
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	for {
		p, err := w.planRestore(ctx, t, q)
		if err != nil {
			return nil, err
		}
		if p.done != nil {
			return restored(p.done, true), nil
		}
		f, ours := w.restores.board(restoreKey{t.root.ID(), p.o.Identity})
		if ours && !w.inBackground(func(background context.Context) { f.land(w.carryOutRestore(background, t, q, p)) }) {
			f.land(nil, fault.New(op.ReasonUnavailable, ""))
		}
		select {
		case <-ctx.Done():
			return nil, fault.From(context.Cause(ctx))
		case <-f.landed:
		}
		if ours && (f.result != nil || f.err != nil) {
			return f.result, f.err
		}
		// Somebody else's equal request has ended, or what was left of an earlier try
		// is cleared away: look anew.
	}
}

// restoreKey is the same for equal restores.
type restoreKey struct {
	root     uint32
	identity canon.Digest
}

// restoreRequest is what a caller asks for.
type restoreRequest struct {
	source, destination         string
	sourcePath, destinationPath string
	snapshot                    *op.IntOrString // nil for a commit
	commit                      keys.CommitIdentity
}

func (w *Workbench) newRestore(req *op.WorkbenchRestoreRequest) (*restoreRequest, error) {
	if err := jail.CheckID(req.ID); err != nil {
		return nil, named(err)
	}
	if err := jail.CheckDestinationID(req.DestinationID); err != nil {
		return nil, named(err)
	}
	q := &restoreRequest{source: req.ID, destination: req.DestinationID, snapshot: req.AtSnapshot,
		sourcePath: w.root.Workbench(req.ID), destinationPath: w.root.Workbench(req.DestinationID)}
	switch {
	case req.ID == req.DestinationID:
		return nil, invalid("$.destination_id", "must be another id than $.id: a restore makes a new workbench")
	case (req.AtSnapshot == nil) == (req.AtCommit == nil):
		return nil, invalid("$.at_snapshot", "give either at_snapshot or at_commit, and not both")
	case req.AtSnapshot != nil:
		return q, checkSelector(req.AtSnapshot)
	}
	id, err := canon.ParseDigestURI(canon.DigestScheme + *req.AtCommit)
	if err != nil {
		return nil, invalid("$.at_commit", "must be 64 lowercase hexadecimal digits")
	}
	q.commit = id
	return q, nil
}

// asks reports whether a restore is what the request asks for. A snapshot's name
// may mean another one since: any snapshot of the workbench answers to a name.
func (q *restoreRequest) asks(o *record.Restore) bool {
	if o.Source != q.source || o.SourcePath != q.sourcePath || o.Destination != q.destination || o.DestinationPath != q.destinationPath {
		return false
	}
	if q.snapshot == nil {
		return o.Kind == record.RestoreCommit && o.Base == q.commit
	}
	return o.Kind == record.RestoreSnapshot && (q.snapshot.IsString || o.Snapshot == uint64(q.snapshot.Int))
}

// restorePlan is what a request means now.
type restorePlan struct {
	// done is set when the restore has ended well already.
	done *record.RestoreProvenance
	// o is the restore to carry out; begun says that it is under way.
	o     record.Restore
	begun bool
}

// planRestore looks at the destination first, then at what is under way, then at
// the source: a repeat needs no source any more.
func (w *Workbench) planRestore(ctx context.Context, t *tenant, q *restoreRequest) (p restorePlan, err error) {
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
		p, err = w.plan(v, t, q)
		return err
	})
	return p, err
}

func (w *Workbench) plan(r kv.Reader, t *tenant, q *restoreRequest) (p restorePlan, err error) {
	l, exists, err := t.find(r, q.destination)
	if err != nil {
		return p, err
	}
	if exists {
		done, ok, err := t.provenance(r, l.incarnation)
		if err != nil {
			return p, err
		}
		if !ok || !q.asks(&done.Restore) {
			return p, fault.New(op.ReasonWBRestoreConflict, "")
		}
		return restorePlan{done: &done, o: done.Restore}, nil
	}
	under, ok, err := t.restoreInto(r, q.destination)
	if err != nil {
		return p, err
	}
	if ok {
		if under.State != record.RestoreAborting && !q.asks(&under.Restore) {
			return p, fault.New(op.ReasonWBRestoreUnderWay, "")
		}
		return restorePlan{o: under.Restore, begun: true}, nil
	}
	p.o, err = w.resolveRestore(r, t, q)
	return p, err
}

// resolveRestore finds what a request is to restore. The instant, and with it the
// initialization, is the caller's to set.
//
// Errors: NotFound without the source or the commit; those of a snapshot that
// cannot be read.
func (w *Workbench) resolveRestore(r kv.Reader, t *tenant, q *restoreRequest) (o record.Restore, err error) {
	if q.snapshot == nil && q.commit == (keys.CommitIdentity{}) {
		return o, fault.New(op.ReasonWBRestoreConflict, "No commit has the identity of nothing but zeros.")
	}
	l, ok, err := t.find(r, q.source)
	if err != nil {
		return o, err
	}
	if !ok {
		return o, noWorkbench(jail.Place{ID: q.source})
	}
	o = record.Restore{Source: q.source, SourcePath: q.sourcePath, SourceIncarnation: l.incarnation, Destination: q.destination, DestinationPath: q.destinationPath}
	if q.snapshot == nil {
		err = t.resolveCommit(r, l.incarnation, q.commit, &o)
	} else {
		err = w.resolveSnapshot(r, t, l.incarnation, *q.snapshot, &o)
	}
	if err == nil {
		identify(w.rootID(t), &o)
	}
	return o, err
}

func (t *tenant) resolveCommit(r kv.Reader, in keys.Incarnation, id keys.CommitIdentity, o *record.Restore) error {
	c, ok, err := t.commit(r, in, id)
	if err != nil {
		return err
	}
	if !ok {
		_, begun, err := t.commitOperation(r, in, id)
		if err != nil {
			return err
		}
		if begun {
			return fault.New(op.ReasonWBInvalidState, "This commit is under way; restore it when it is done.")
		}
		return fault.New(op.ReasonWBNotFound, "The workbench has no commit of this identity; workbench_find shows the one that it stands on.").With("path", "")
	}
	o.Kind, o.Base, o.Frozen = record.RestoreCommit, id, c.Frozen
	return nil
}

func (w *Workbench) resolveSnapshot(r kv.Reader, t *tenant, in keys.Incarnation, sel op.IntOrString, o *record.Restore) error {
	id, s, ok, err := t.snapshotFor(r, in, sel)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(op.ReasonWBSnapshotNotFound, "")
	}
	now := w.store.Now()
	if tx, ok := r.(*kv.Tx); ok {
		now = tx.Now()
	}
	state, err := w.stateOf(r, t, in, id, &s, now)
	if err != nil {
		return err
	}
	o.Kind, o.Snapshot, o.Base, o.Frozen = record.RestoreSnapshot, id, s.CommitIdentity, s.Revision
	return readable(state)
}

// provenance reads where a workbench was restored from.
func (t *tenant) provenance(r kv.Reader, in keys.Incarnation) (record.RestoreProvenance, bool, error) {
	value, ok, err := r.Get(keys.AppendRestoreProvenance(nil, t.root.ID(), in))
	if err != nil || !ok {
		return record.RestoreProvenance{}, false, err
	}
	p, err := record.DecodeRestoreProvenance(value.Bytes)
	if err != nil {
		return record.RestoreProvenance{}, false, corrupt(err)
	}
	return p, true, nil
}

// restoreOperation reads a restore that is under way. Its body has memory of its
// own.
func (t *tenant) restoreOperation(r kv.Reader, id [keys.OperationIDLen]byte) (record.RestoreOperation, bool, error) {
	value, ok, err := r.Get(keys.AppendRestoreOperation(nil, t.root.ID(), id))
	if err != nil || !ok {
		return record.RestoreOperation{}, false, err
	}
	o, err := record.DecodeRestoreOperation(value.Bytes)
	if err != nil {
		return record.RestoreOperation{}, false, corrupt(err)
	}
	o.Body = o.Body.Clone()
	return o, true, nil
}

// restoreInto finds the restore that is building a workbench of an id. There is
// one at most (WB-31), and few are under way at a time.
func (t *tenant) restoreInto(r kv.Reader, destination string) (found record.RestoreOperation, ok bool, err error) {
	err = t.eachRestore(r, func(o *record.RestoreOperation) {
		if o.Destination == destination {
			found, ok = *o, true
			found.Body = o.Body.Clone()
		}
	})
	return found, ok, err
}

func (t *tenant) eachRestore(r kv.Reader, fn func(o *record.RestoreOperation)) error {
	lower, upper := keys.SpaceBounds(keys.SpaceRestoreOperation, t.root.ID())
	it := r.Scan(lower, upper, kv.ScanOptions{})
	defer func() { _ = it.Close() }()
	for it.Next() {
		o, err := record.DecodeRestoreOperation(it.Value().Bytes)
		if err != nil {
			return corrupt(err)
		}
		fn(&o)
	}
	return it.Err()
}

// rootID is the identity of a tenant's root.
func (w *Workbench) rootID(t *tenant) rootID {
	return rootIdentity(w.store.InstallationID(), t.root.ID())
}

// restored is the answer about a restore that has ended well.
func restored(p *record.RestoreProvenance, replayed bool) *op.WorkbenchRestoreResult {
	operation := operationID(&p.Restore)
	res := &op.WorkbenchRestoreResult{
		State: "complete", OperationID: hex.EncodeToString(operation[:]), SourceWorkbenchID: p.Source, DestinationWorkbenchID: p.Destination,
		DestinationGeneration: 1, IdempotentReplay: replayed, RestoreManifest: p.DestinationPath + "/" + jail.RestoreManifest,
	}
	if p.Kind == record.RestoreCommit {
		id := hex.EncodeToString(p.Base[:])
		res.CommitID = &id
	} else {
		snapshot, version := int64(p.Snapshot), int64(p.Frozen)
		res.SnapshotID, res.ReadVersion = &snapshot, &version
	}
	return res
}
