package workbench

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Commit publishes a run manifest and freezes the files as they are. The same
// call made again gets the first answer, whatever happened since (WB-16). What was
// begun comes to its end when the caller has left, or after a crash.
func (w *Workbench) Commit(ctx context.Context, req *op.WorkbenchCommitRequest) (*op.WorkbenchCommitResult, error) {
	c, err := w.newCommit(req)
	if err != nil {
		return nil, err
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	for {
		res, err := w.committed(ctx, t, c)
		if res != nil || err != nil {
			return res, err
		}
		f, ours := w.commits.board(flightKey{t.root.ID(), c.id, c.identity})
		if ours && !w.inBackground(func(background context.Context) { f.land(w.carryOut(background, t, c)) }) {
			f.land(nil, fault.New(op.ReasonUnavailable, ""))
		}
		select {
		case <-ctx.Done():
			return nil, fault.From(ctx.Err())
		case <-f.landed:
		}
		if ours {
			return f.result, f.err
		}
		// Somebody else's equal request has ended: look at what came of it.
	}
}

// commitRequest is a request to commit, with all that follows from it.
type commitRequest struct {
	runEnvelope // but for the time
	replace     bool
	projected   canon.Digest
}

func (w *Workbench) newCommit(req *op.WorkbenchCommitRequest) (*commitRequest, error) {
	if err := jail.CheckID(req.ID); err != nil {
		return nil, named(err)
	}
	c := &commitRequest{replace: req.Replace != nil && *req.Replace}
	c.id, c.path = req.ID, w.root.Workbench(req.ID)
	var err error
	if c.content, err = canon.ParseDigestURI(req.ContentDigestURI); err != nil {
		return nil, invalid("$.content_digest_uri", "must be sha256: and 64 lowercase hexadecimal digits")
	}
	if c.manifest, err = canon.Append(nil, req.Manifest); err != nil {
		return nil, invalid("$.manifest", "must be valid JSON, nested at most 119 levels deep, with no number beyond a 64-bit float")
	}
	if len(c.manifest) == 0 || c.manifest[0] != '{' {
		return nil, invalid("$.manifest", "must be an object")
	}
	if _, depth := measure(c.manifest); depth > int(op.LimitMaxManifestDepth) {
		return nil, invalid("$.manifest", "must nest at most 119 levels deep, itself among them")
	}
	if n := int64(len(c.manifest)); n > op.LimitMaxManifestBytes {
		return nil, tooLarge(n, op.LimitMaxManifestBytes, "The manifest is too large in canonical form; keep what is large in a file of its own, and cite its digest.")
	}
	c.manifestSum = canon.Sum(c.manifest)
	c.identity = commitIdentity(c.id, req.ContentDigestURI, digestURI(c.manifestSum))
	c.projected = c.projection()
	return c, nil
}

// committed returns the first answer to an equal request, or nil when there is
// none yet.
func (w *Workbench) committed(ctx context.Context, t *tenant, c *commitRequest) (res *op.WorkbenchCommitResult, err error) {
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
		in, ok, err := t.see(v, c.id)
		if err != nil || !ok {
			return err
		}
		res, err = w.replay(v, t, in, c)
		return err
	})
	return res, err
}

// replay looks for a published commit of the identity. An equal request gets its
// answer; one that differs in what the identity does not cover is refused.
func (w *Workbench) replay(r kv.Reader, t *tenant, in keys.Incarnation, c *commitRequest) (*op.WorkbenchCommitResult, error) {
	done, ok, err := t.commit(r, in, c.identity)
	if err != nil || !ok {
		return nil, err
	}
	if done.Generation == 1 && done.Parent != nil {
		return nil, fault.New(op.ReasonWBInvalidState, "The restore that made this workbench committed it with just this content and manifest; nothing is left to commit.")
	}
	if done.Replace != c.replace || done.Path != c.path {
		return nil, fault.New(op.ReasonWBInvalidState, "This commit was made before, with another value of replace or under another workbench root; send it as it was first sent.")
	}
	return commitResult(c, &done, true), nil
}

func commitResult(c *commitRequest, done *record.Commit, replayed bool) *op.WorkbenchCommitResult {
	return &op.WorkbenchCommitResult{
		WorkbenchID: c.id, WorkbenchPath: c.path, Path: c.path + "/" + jail.RunManifest, SizeBytes: done.Envelope.Length,
		Generation: int64(done.Generation), ContentDigestURI: digestURI(done.Content), ManifestDigestURI: digestURI(done.Manifest),
		CommitIdentity: hex.EncodeToString(c.identity[:]), EnvelopeDigestURI: digestURI(done.Envelope.SHA256),
		TreeDigestURI: digestURI(done.Tree), Replace: done.Replace, IdempotentReplay: replayed,
	}
}

// carryOut does a commit from its first step to its last. What it returns is
// durable. It is called for one request of an identity at a time.
func (w *Workbench) carryOut(ctx context.Context, t *tenant, c *commitRequest) (*op.WorkbenchCommitResult, error) {
	in, o, res, err := w.prepareCommit(ctx, t, c)
	if res != nil || err != nil {
		return res, err
	}
	w.pause("prepared")
	done, err := w.finishCommit(ctx, t, in, c, o)
	if err != nil {
		if !fault.Is(err, op.ReasonWBCommitConflict) {
			w.unfinished()
		}
		return nil, err
	}
	return commitResult(c, done, false), nil
}

// prepareCommit stores the request with what it is to stand on: from then on it
// comes to an end (WB-19). A commit that is done already is answered instead.
func (w *Workbench) prepareCommit(ctx context.Context, t *tenant, c *commitRequest) (in keys.Incarnation, o record.CommitOperation, res *op.WorkbenchCommitResult, err error) {
	minted, err := w.mint(t, c.id)
	if err != nil {
		return in, o, nil, err
	}
	sealed, err := w.bodies.PutBytes(ctx, t.root, c.manifest)
	if err != nil {
		return in, o, nil, bodyFault(err)
	}
	defer sealed.Release()
	err = w.update(ctx, t, c.id, func(tx *kv.Tx) (life, error) {
		res = nil
		l, ok, err := t.find(tx, c.id)
		if err != nil {
			return l, err
		}
		if !ok {
			t.begin(tx, c.id, minted)
			l = life{minted, tx.Revision()}
		}
		in = l.incarnation
		if res, err = w.replay(tx, t, in, c); res != nil || err != nil {
			return l, err
		}
		var begun bool
		if o, begun, err = t.commitOperation(tx, in, c.identity); err != nil {
			return l, err
		}
		if begun {
			// A crash has left it: it goes on as it was asked for first.
			if o.Projection != c.projected || o.Replace != c.replace {
				return l, fault.New(op.ReasonWBInvalidState, "This commit is under way, with another value of replace or under another workbench root; send it as it was first sent.")
			}
			o.Body = o.Body.Clone()
			return l, nil
		}
		head, has, err := t.commitHead(tx, in)
		if err != nil {
			return l, err
		}
		if has && !c.replace {
			return l, fault.New(op.ReasonWBCommitConflict, "")
		}
		old, _, err := t.file(tx, in, jail.RunManifest)
		if err != nil {
			return l, err
		}
		body, err := w.bodies.Publish(tx, sealed)
		if err != nil {
			return l, bodyFault(err)
		}
		hold, err := tx.HoldWithin(keys.AppendPathRecords(nil, t.root.ID(), in), holdCommit, c.identity[:])
		if err != nil {
			return l, err
		}
		o = record.CommitOperation{
			Workbench: c.id, Path: c.path, Content: c.content, Manifest: c.manifestSum, Replace: c.replace, Projection: c.projected,
			Head: head, ManifestGeneration: old.Generation, AtMillis: tx.Now().UnixMilli(),
			Frozen: uint64(tx.Revision()), Hold: uint64(hold), Body: body.Clone(),
		}
		tx.Put(keys.AppendCommitOperation(nil, t.root.ID(), in, c.identity), record.AppendCommitOperation(nil, o))
		return l, nil
	})
	return in, o, res, err
}

// commitOperation reads a commit that is under way.
func (t *tenant) commitOperation(r kv.Reader, in keys.Incarnation, id keys.CommitIdentity) (record.CommitOperation, bool, error) {
	value, ok, err := r.Get(keys.AppendCommitOperation(nil, t.root.ID(), in, id))
	if err != nil || !ok {
		return record.CommitOperation{}, false, err
	}
	o, err := record.DecodeCommitOperation(value.Bytes)
	if err != nil {
		return record.CommitOperation{}, false, corrupt(err)
	}
	return o, true, nil
}

// finishCommit takes a prepared commit to its end: published, or given up because
// the head moved meanwhile.
func (w *Workbench) finishCommit(ctx context.Context, t *tenant, in keys.Incarnation, c *commitRequest, o record.CommitOperation) (*record.Commit, error) {
	if !o.Staged {
		var err error
		if o, err = w.stageCommit(ctx, t, in, c, o); err != nil {
			return nil, err
		}
	}
	w.pause("staged")
	virtual := record.File{Generation: o.ManifestGeneration + 1, ContentType: manifestType, Body: o.Body}
	tree, err := w.hashTree(ctx, t, in, kv.Revision(o.Frozen), &virtual)
	if err != nil {
		return nil, err
	}
	w.pause("hashed")
	return w.publishCommit(ctx, t, in, c, o, tree)
}

// stageCommit makes the envelope, with the time that is stored, and has the
// operation refer to it: durable, and at no path (WB-19).
func (w *Workbench) stageCommit(ctx context.Context, t *tenant, in keys.Incarnation, c *commitRequest, o record.CommitOperation) (record.CommitOperation, error) {
	e := c.runEnvelope
	e.seconds = o.AtMillis / 1000
	sealed, err := w.bodies.PutBytes(ctx, t.root, e.append(make([]byte, 0, len(e.manifest)+1024)))
	if err != nil {
		return o, bodyFault(err)
	}
	defer sealed.Release()
	err = w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		now, ok, err := t.commitOperation(tx, in, c.identity)
		if err != nil {
			return err
		}
		if !ok || now.Projection != c.projected || now.Staged {
			return corrupt(errors.New("workbench: a commit operation changed under its only writer (WB-19)"))
		}
		body, err := w.bodies.Publish(tx, sealed)
		if err != nil {
			return bodyFault(err)
		}
		now.Staged, now.Body = true, body
		tx.Put(keys.AppendCommitOperation(nil, t.root.ID(), in, c.identity), record.AppendCommitOperation(nil, now))
		now.Body = body.Clone()
		o = now
		return nil
	})
	return o, err
}

// treePage is how many files one View of a tree shows: short enough that no View
// of a large one keeps the engine from freeing anything.
const treePage = 512

// breathe lets other work go first between two pages of a long reading: for as
// long as the page took, so that it takes half a processor at most and a client
// with one short call waits for one page.
func (w *Workbench) breathe(ctx context.Context, began time.Time) error {
	if !w.paced.Load() {
		return ctx.Err()
	}
	timer := w.pacer.NewTimer(min(max(w.pacer.Now().Sub(began), 200*time.Microsecond), 5*time.Millisecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}

// hashTree digests the files at a held revision, with virtual in the place of
// the run manifest.
func (w *Workbench) hashTree(ctx context.Context, t *tenant, in keys.Incarnation, rev kv.Revision, virtual *record.File) (*treeHash, error) {
	h := &treeHash{}
	placed := virtual == nil
	err := w.eachFile(ctx, t, in, rev, func(path string, f *record.File) error {
		if virtual != nil && path == jail.RunManifest {
			return nil
		}
		if !placed && keys.ComparePaths(jail.RunManifest, path) < 0 {
			h.add(jail.RunManifest, virtual)
			placed = true
		}
		h.add(path, f)
		return nil
	})
	if err == nil && !placed {
		h.add(jail.RunManifest, virtual)
	}
	return h, err
}

// eachFile goes over the files at a held revision in path order, a page for each
// View.
func (w *Workbench) eachFile(ctx context.Context, t *tenant, in keys.Incarnation, rev kv.Revision, fn func(path string, f *record.File) error) error {
	prefix := keys.AppendPathRecords(nil, t.root.ID(), in)
	upper := keys.AppendEnd(nil, prefix)
	next := prefix
	for next != nil {
		began := w.pacer.Now()
		err := w.store.ViewAt(ctx, t.root, rev, func(v *kv.View) error {
			from := next
			next = nil
			it := v.Scan(prefix, upper, kv.ScanOptions{})
			defer func() { _ = it.Close() }()
			n := 0
			for ok := it.SeekGE(from); ok; ok = it.Next() {
				if n == treePage {
					next = append([]byte(nil), it.Key()...)
					break
				}
				n++
				_, _, path, err := keys.CutPathRecord(it.Key())
				if err != nil {
					return corrupt(err)
				}
				f, err := record.DecodeFile(it.Value().Bytes)
				if err != nil {
					return corrupt(err)
				}
				if err := fn(path, &f); err != nil {
					return err
				}
			}
			return it.Err()
		})
		if err == nil && next != nil {
			err = w.breathe(ctx, began)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// publishCommit makes manifest, head and commit visible in one revision, when the
// head and the manifest are still the ones that the commit was prepared on; else
// it gives the commit up, and another call begins anew (WB-18).
func (w *Workbench) publishCommit(ctx context.Context, t *tenant, in keys.Incarnation, c *commitRequest, o record.CommitOperation, tree *treeHash) (*record.Commit, error) {
	var done *record.Commit
	err := w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		done = nil
		now, ok, err := t.commitOperation(tx, in, c.identity)
		if err != nil {
			return err
		}
		if !ok || !now.Staged || now.Projection != c.projected || now.Body.SHA256 != o.Body.SHA256 || now.Body.Length != o.Body.Length {
			return corrupt(errors.New("workbench: a commit operation changed under its only writer (WB-19)"))
		}
		head, has, err := t.commitHead(tx, in)
		if err != nil {
			return err
		}
		old, there, err := t.file(tx, in, jail.RunManifest)
		if err != nil {
			return err
		}
		key := keys.AppendCommitOperation(nil, t.root.ID(), in, c.identity)
		if head != now.Head || old.Generation != now.ManifestGeneration {
			tx.Delete(key)
			return tx.Release(kv.HoldID(now.Hold))
		}
		var before *record.File
		if there {
			before = &old
		}
		manifest := record.File{ContentType: manifestType, Body: now.Body}
		t.publish(tx, c.id, in, jail.RunManifest, before, &manifest)
		commit := record.Commit{
			Generation: head.Generation + 1, Content: now.Content, Manifest: now.Manifest, Replace: now.Replace, Path: now.Path,
			CommittedMillis: now.AtMillis, Frozen: now.Frozen, Hold: now.Hold, Tree: tree.sum, Members: tree.members,
			ManifestGeneration: manifest.Generation, Envelope: now.Body,
		}
		if has {
			commit.Parent = &head.Identity
		}
		tx.Put(keys.AppendCommit(nil, t.root.ID(), in, c.identity), record.AppendCommit(nil, commit))
		tx.Put(keys.AppendCommitHead(nil, t.root.ID(), in), record.AppendCommitHead(nil, record.CommitHead{Generation: commit.Generation, Identity: c.identity}))
		tx.Delete(key)
		commit.Envelope = commit.Envelope.Clone()
		done = &commit
		return nil
	})
	if err == nil && done == nil {
		return nil, fault.New(op.ReasonWBCommitConflict, "The workbench was committed by somebody else meanwhile. Look at what it holds now, and decide anew.")
	}
	return done, err
}

// Recover takes every commit and every restore to its end that an earlier process has left
// unfinished. Calls may go on meanwhile.
func (w *Workbench) Recover(ctx context.Context) error {
	roots, names := w.store.Roots()
	var failed error
	for i, root := range roots {
		if names[i].Area != Area {
			continue
		}
		t, err := w.tenantOf(root, names[i])
		if err != nil {
			return err
		}
		left, err := t.unfinished(ctx, w.store)
		if err != nil {
			return err
		}
		for _, u := range left {
			if err := w.recoverCommit(ctx, t, u); err != nil {
				failed = errors.Join(failed, fmt.Errorf("workbench: recovering a commit of %s: %w", u.o.Workbench, err))
			}
		}
		failed = errors.Join(failed, w.recoverRestores(ctx, t))
	}
	return failed
}

// unfinished is a commit that is under way.
type unfinished struct {
	in keys.Incarnation
	id keys.CommitIdentity
	o  record.CommitOperation
}

func (t *tenant) unfinished(ctx context.Context, s *kv.Store) (left []unfinished, err error) {
	err = s.View(ctx, t.root, func(v *kv.View) error {
		lower, upper := keys.SpaceBounds(keys.SpaceCommitOperation, t.root.ID())
		it := v.Scan(lower, upper, kv.ScanOptions{})
		for it.Next() {
			_, in, id, err := keys.CutCommitOperation(it.Key())
			if err != nil {
				return errors.Join(corrupt(err), it.Close())
			}
			o, err := record.DecodeCommitOperation(it.Value().Bytes)
			if err != nil {
				return errors.Join(corrupt(err), it.Close())
			}
			o.Body = o.Body.Clone()
			left = append(left, unfinished{in, id, o})
		}
		return it.Close()
	})
	return left, err
}

// recoverCommit goes on from what is stored alone: the request is made again out
// of it, and must have the digest of the first one (WB-20).
func (w *Workbench) recoverCommit(ctx context.Context, t *tenant, u unfinished) error {
	f, ours := w.commits.board(flightKey{t.root.ID(), u.o.Workbench, u.id})
	if !ours {
		return nil // a caller has come back for it
	}
	res, err := w.resume(ctx, t, u)
	f.land(res, err)
	if fault.Is(err, op.ReasonWBCommitConflict) {
		return nil
	}
	return err
}

// remade makes the request of an unfinished commit again.
func (w *Workbench) remade(ctx context.Context, t *tenant, id keys.CommitIdentity, o record.CommitOperation) (*commitRequest, error) {
	text, err := w.loadBody(ctx, t, o.Body)
	if err != nil {
		return nil, err
	}
	c := &commitRequest{replace: o.Replace, projected: o.Projection}
	c.id, c.path, c.content, c.manifest, c.manifestSum, c.identity = o.Workbench, w.root.Workbench(o.Workbench), o.Content, text, o.Manifest, id
	if o.Staged {
		e, err := parseRunEnvelope(text)
		if err != nil {
			return nil, corrupt(err)
		}
		if e.seconds != o.AtMillis/1000 || e.id != c.id {
			return nil, corrupt(errors.New("workbench: a staged run manifest of another commit (WB-20)"))
		}
		c.manifest, c.manifestSum, c.path = e.manifest, e.manifestSum, e.path
	}
	if c.projection() != o.Projection || canon.Sum(c.manifest) != o.Manifest || c.path != w.root.Workbench(c.id) {
		return nil, corrupt(errors.New("workbench: an unfinished commit is not what it was asked to be (WB-20)"))
	}
	return c, nil
}

// resume takes an unfinished commit to its end, unless somebody has done so since
// it was found; then it returns nothing. Nobody else is at it meanwhile.
func (w *Workbench) resume(ctx context.Context, t *tenant, u unfinished) (*op.WorkbenchCommitResult, error) {
	var left bool
	err := w.store.View(ctx, t.root, func(v *kv.View) (err error) {
		u.o, left, err = t.commitOperation(v, u.in, u.id)
		u.o.Body = u.o.Body.Clone()
		return err
	})
	if err != nil || !left {
		return nil, err
	}
	c, err := w.remade(ctx, t, u.id, u.o)
	if err != nil {
		return nil, err
	}
	done, err := w.finishCommit(ctx, t, u.in, c, u.o)
	if err != nil {
		return nil, err
	}
	return commitResult(c, done, false), nil
}

// loadBody reads a body that a row of this package embeds.
func (w *Workbench) loadBody(ctx context.Context, t *tenant, rec record.Body) ([]byte, error) {
	var body *blob.Body
	if err := w.store.View(ctx, t.root, func(v *kv.View) error { body = w.bodies.Open(v, rec); return nil }); err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := body.ReadAll(ctx)
	return text, bodyFault(err)
}
