package workbench

import (
	"context"
	"errors"
	"fmt"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// carryOutRestore does a restore from its first step to its last. It is called for
// one request of an identity at a time. A nil result without an error says that
// nothing is decided: the caller looks anew.
func (w *Workbench) carryOutRestore(ctx context.Context, t *tenant, q *restoreRequest, p restorePlan) (*op.WorkbenchRestoreResult, error) {
	o, ok, err := w.prepareRestore(ctx, t, q, p)
	if err != nil || !ok {
		return nil, err
	}
	w.pause("restore prepared")
	done, err := w.driveRestore(ctx, t, o)
	if err != nil || done == nil {
		return nil, err
	}
	return restored(done, false), nil
}

// prepareRestore stores the request with all that follows from it; from then on
// it comes to an end (WB-33). It reports false when the request means something
// else by now than it was planned to.
func (w *Workbench) prepareRestore(ctx context.Context, t *tenant, q *restoreRequest, p restorePlan) (o *record.RestoreOperation, ok bool, err error) {
	// The manifest names no instant: it is the same whenever the restore begins.
	sealed, err := w.bodies.PutBytes(ctx, t.root, appendRestoreManifest(nil, &p.o))
	if err != nil {
		return nil, false, bodyFault(err)
	}
	defer sealed.Release()
	err = w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		o, ok = nil, false
		now, err := w.plan(tx, t, q)
		if err != nil || now.done != nil || now.o.Identity != p.o.Identity {
			return err
		}
		there, begun, err := t.restoreOperation(tx, operationID(&now.o))
		if err != nil {
			return err
		}
		if begun {
			// The short name may be that of another restore: its full identity decides.
			if there.Identity != now.o.Identity {
				return fault.New(op.ReasonWBInvalidState, "Another restore has the operation id of this one; choose another destination_id.")
			}
			o, ok = &there, true
			return nil
		}
		next := record.RestoreOperation{Restore: now.o, State: record.RestoreCopying}
		next.AtMillis = tx.Now().UnixMilli()
		identify(w.rootID(t), &next.Restore)
		if next.Body, err = w.bodies.Publish(tx, sealed); err != nil {
			return bodyFault(err)
		}
		// What is left of a try that was given up is its head.
		if _, next.Again, err = tx.Get(keys.AppendWorkbenchHead(nil, t.root.ID(), next.DestinationIncarnation)); err != nil {
			return err
		}
		if next.Kind == record.RestoreSnapshot {
			t.addConsumer(tx, next.SourceIncarnation, next.Snapshot, operationID(&next.Restore))
		}
		t.putRestore(tx, next)
		next.Body = next.Body.Clone()
		o, ok = &next, true
		return nil
	})
	return o, ok, err
}

// driveRestore takes a prepared restore to its end from wherever it is: published,
// or given up. It returns nil when one that was given up before is cleared away.
func (w *Workbench) driveRestore(ctx context.Context, t *tenant, o *record.RestoreOperation) (*record.RestoreProvenance, error) {
	if !intact(w.rootID(t), &o.Restore) || o.Body.SHA256 != o.Manifest || o.Body.Length != o.ManifestLength || o.ManifestType != manifestType {
		return nil, corrupt(errors.New("workbench: an unfinished restore is not what it was asked to be (WB-35)"))
	}
	if o.State == record.RestoreAborting {
		err := w.clearRestore(ctx, t, o)
		if err != nil {
			w.unfinished()
		}
		return nil, err
	}
	err := w.copyRestore(ctx, t, o)
	var done *record.RestoreProvenance
	if err == nil {
		w.pause("restore copied")
		done, err = w.publishRestore(ctx, t, o)
	}
	if err == nil {
		return done, nil
	}
	// A destination that exists, and a source that is damaged, stay so. Everything
	// else may pass, and the restore goes on with the next call, or in the background.
	if !fault.Is(err, op.ReasonWBRestoreConflict) && (!fault.Is(err, op.ReasonWBCorrupt) || errors.Is(err, errRestoreChanged)) {
		w.unfinished()
		return nil, err
	}
	if gone := w.abandonRestore(ctx, t, o); gone != nil {
		w.unfinished()
	}
	return nil, err
}

// publishRestore makes the destination appear: marker, head, both manifests, its
// first commit and where it came from, in one revision, which frees the source
// too (WB-30, WB-34).
func (w *Workbench) publishRestore(ctx context.Context, t *tenant, o *record.RestoreOperation) (*record.RestoreProvenance, error) {
	e, err := w.restoredEnvelope(ctx, t, o)
	if err != nil {
		return nil, err
	}
	sealed, err := w.bodies.PutBytes(ctx, t.root, e.append(make([]byte, 0, len(e.manifest)+1024)))
	if err != nil {
		return nil, bodyFault(err)
	}
	defer sealed.Release()
	text := e.append(nil)
	run := record.File{Generation: 1, ContentType: manifestType, Body: record.Body{SHA256: canon.Sum(text), Length: int64(len(text))}}
	source := record.File{Generation: 1, ContentType: o.ManifestType, Body: o.Body}
	tree, err := w.hashRestored(ctx, t, o, &source, &run)
	if err != nil {
		return nil, err
	}
	w.pause("restore hashed")
	in := o.DestinationIncarnation
	done := &record.RestoreProvenance{Restore: o.Restore, Commit: e.identity, Members: o.Copied}
	var rev kv.Revision
	err = w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		now, err := t.sameRestore(tx, o)
		if err != nil {
			return err
		}
		if now.Body.SHA256 != now.Manifest || now.Body.Length != now.ManifestLength || now.ManifestType != manifestType {
			return corrupt(errRestoreChanged)
		}
		if _, exists, err := t.find(tx, o.Destination); err != nil || exists {
			return errors.Join(err, fault.New(op.ReasonWBRestoreConflict, ""))
		}
		body, err := w.bodies.Publish(tx, sealed)
		if err != nil {
			return bodyFault(err)
		}
		hold, err := tx.HoldWithin(keys.AppendPathRecords(nil, t.root.ID(), in), holdCommit, e.identity[:])
		if err != nil {
			return err
		}
		restoreFile := record.File{ContentType: now.ManifestType, Body: now.Body}
		runFile := record.File{ContentType: manifestType, Body: body}
		t.publish(tx, o.Destination, in, jail.RestoreManifest, nil, &restoreFile)
		t.publish(tx, o.Destination, in, jail.RunManifest, nil, &runFile)
		tx.Put(keys.AppendCommit(nil, t.root.ID(), in, e.identity), record.AppendCommit(nil, record.Commit{
			Generation: 1, Parent: &o.Base, Content: e.content, Manifest: e.manifestSum, Path: o.DestinationPath, CommittedMillis: o.AtMillis,
			Frozen: uint64(tx.Revision()), Hold: uint64(hold), Tree: tree.sum, Members: tree.members, ManifestGeneration: 1, Envelope: body,
		}))
		tx.Put(keys.AppendCommitHead(nil, t.root.ID(), in), record.AppendCommitHead(nil, record.CommitHead{Generation: 1, Identity: e.identity}))
		tx.Put(keys.AppendRestoreProvenance(nil, t.root.ID(), in), record.AppendRestoreProvenance(nil, *done))
		tx.Delete(keys.AppendRestoreOperation(nil, t.root.ID(), operationID(&o.Restore)))
		if err := w.freeSource(tx, t, &o.Restore); err != nil {
			return err
		}
		t.begin(tx, o.Destination, in)
		rev = tx.Revision()
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.learn(o.Destination, life{in, rev})
	return done, nil
}

// restoredEnvelope makes the run manifest of the destination out of the commit
// that the restored files stand on. When they are that commit's, what was said of
// its content holds; else their own digest takes its place.
func (w *Workbench) restoredEnvelope(ctx context.Context, t *tenant, o *record.RestoreOperation) (*runEnvelope, error) {
	var base record.Commit
	err := w.store.View(ctx, t.root, func(v *kv.View) (err error) {
		var ok bool
		if base, ok, err = t.commit(v, o.SourceIncarnation, o.Base); err == nil && !ok {
			err = corrupt(errors.New("workbench: a snapshot of no commit (WB-17)"))
		}
		base.Envelope = base.Envelope.Clone()
		return err
	})
	if err != nil {
		return nil, err
	}
	text, err := w.loadBody(ctx, t, base.Envelope)
	if err != nil {
		return nil, err
	}
	from, err := parseRunEnvelope(text)
	if err != nil {
		return nil, corrupt(err)
	}
	if from.identity != o.Base || from.manifestSum != base.Manifest {
		return nil, corrupt(fmt.Errorf("workbench: the run manifest of another commit (WB-17)"))
	}
	e := &runEnvelope{seconds: o.AtMillis / 1000, content: base.Content, manifest: from.manifest, manifestSum: from.manifestSum, id: o.Destination, path: o.DestinationPath}
	if o.Kind == record.RestoreSnapshot && o.Tree != base.Tree {
		e.content = restoredContent(o.Tree)
	}
	e.identity = commitIdentity(e.id, digestURI(e.content), digestURI(e.manifestSum))
	return e, nil
}

// hashRestored digests the destination as it is to appear: the files that were
// copied, and its own two manifests in their places.
func (w *Workbench) hashRestored(ctx context.Context, t *tenant, o *record.RestoreOperation, restore, run *record.File) (*treeHash, error) {
	h := &treeHash{}
	own := []struct {
		path string
		file *record.File
	}{{jail.RestoreManifest, restore}, {jail.RunManifest, run}}
	err := w.eachFile(ctx, t, o.SourceIncarnation, kv.Revision(o.Frozen), func(path string, f *record.File) error {
		if jail.Reserved(path) {
			return nil
		}
		for len(own) > 0 && keys.ComparePaths(own[0].path, path) < 0 {
			h.add(own[0].path, own[0].file)
			own = own[1:]
		}
		h.add(path, f)
		return nil
	})
	for _, m := range own {
		h.add(m.path, m.file)
	}
	if err == nil && h.members != o.Copied+2 {
		err = corrupt(errRestoreChanged)
	}
	return h, err
}

// recoverRestores takes every restore of a tenant to its end that an earlier
// process has left unfinished.
func (w *Workbench) recoverRestores(ctx context.Context, t *tenant) error {
	var left []record.RestoreOperation
	err := w.store.View(ctx, t.root, func(v *kv.View) error {
		return t.eachRestore(v, func(o *record.RestoreOperation) {
			o.Body = o.Body.Clone()
			left = append(left, *o)
		})
	})
	for i := range left {
		f, ours := w.restores.board(restoreKey{t.root.ID(), left[i].Identity})
		if !ours {
			continue // a caller has come back for it
		}
		result, failed := w.resumeRestore(ctx, t, operationID(&left[i].Restore))
		f.land(result, failed)
		if failed != nil && !fault.Is(failed, op.ReasonWBRestoreConflict) {
			err = errors.Join(err, fmt.Errorf("workbench: recovering a restore into %s: %w", left[i].Destination, failed))
		}
	}
	return err
}

// resumeRestore goes on with a restore that is under way, from what is stored.
func (w *Workbench) resumeRestore(ctx context.Context, t *tenant, id [keys.OperationIDLen]byte) (*op.WorkbenchRestoreResult, error) {
	var o record.RestoreOperation
	var ok bool
	err := w.store.View(ctx, t.root, func(v *kv.View) (err error) {
		o, ok, err = t.restoreOperation(v, id)
		return err
	})
	if err != nil || !ok {
		return nil, err
	}
	done, err := w.driveRestore(ctx, t, &o)
	if err != nil || done == nil {
		return nil, err
	}
	return restored(done, false), nil
}
