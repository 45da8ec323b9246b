package workbench

import (
	"context"
	"errors"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// moment is the state of a workbench that a reading tool shows.
type moment struct {
	in keys.Incarnation
	// snapshot is the id of the snapshot that keeps the state; 0 means the live
	// state.
	snapshot uint64
	// manifest is what the head says of the run manifest on which the snapshot was
	// taken. It is known where that path is asked for.
	manifest manifestDescriptor
}

// frozen reports whether a snapshot keeps the state. A View of it may show the
// workbench's path records and their bodies only.
func (m moment) frozen() bool { return m.snapshot != 0 }

// look runs fn with a View of a workbench's live state, or of the state that a
// snapshot keeps. Whether that can be read is decided on the live state first.
//
// Errors: NotFound when there is no such workbench or snapshot, SnapshotExpired
// and InvalidState when the snapshot shows nothing any more.
func (w *Workbench) look(ctx context.Context, t *tenant, p jail.Place, sel *op.IntOrString, fn func(v *kv.View, m moment) error) error {
	if sel == nil {
		return w.store.View(ctx, t.root, func(v *kv.View) error {
			in, ok, err := t.see(v, p.ID)
			if err != nil {
				return err
			}
			if !ok {
				return noWorkbench(p)
			}
			return fn(v, moment{in: in})
		})
	}
	for {
		var m moment
		var rev, newest kv.Revision
		err := w.store.View(ctx, t.root, func(v *kv.View) (err error) {
			m, rev, err = w.freeze(v, t, p, *sel, w.store.Now())
			return err
		})
		if err != nil {
			return err
		}
		shown := false
		err = w.store.ViewAt(ctx, t.root, rev, func(v *kv.View) error {
			shown = true
			return fn(v, m)
		})
		if shown || !errors.Is(err, kv.ErrBelowFloor) {
			return err
		}
		// The snapshot ended between the two Views. A hold is let go when that is
		// applied, which may be before it is durable and before any View says so; an
		// update sees it, and answers when it is durable.
		err = w.store.Update(ctx, t.root, func(tx *kv.Tx) (err error) {
			_, newest, err = w.freeze(tx, t, p, *sel, tx.Now())
			return err
		})
		if err != nil {
			return err
		}
		if newest == rev {
			return corrupt(errors.New("workbench: the files of an active snapshot are gone (WB-12)"))
		}
		// The name means another snapshot by now.
	}
}

// freeze resolves a selector, and returns the revision at which to read.
func (w *Workbench) freeze(r kv.Reader, t *tenant, p jail.Place, sel op.IntOrString, now time.Time) (m moment, rev kv.Revision, err error) {
	l, ok, err := t.find(r, p.ID)
	if err != nil {
		return m, 0, err
	}
	if !ok {
		return m, 0, noWorkbench(p)
	}
	id, s, ok, err := t.snapshotFor(r, l.incarnation, sel)
	if err != nil {
		return m, 0, err
	}
	if !ok {
		return m, 0, noSnapshot(p)
	}
	state, err := w.stateOf(r, t, l.incarnation, id, &s, now)
	if err != nil {
		return m, 0, err
	}
	if err := readable(state); err != nil {
		return m, 0, err
	}
	m = moment{in: l.incarnation, snapshot: id}
	if p.Full == jail.RunManifest {
		m.manifest, err = t.descriptor(r, l.incarnation, s.CommitIdentity)
	}
	return m, kv.Revision(s.Revision), err
}

// accept refuses a run manifest that is not the one of the head, live or as it
// was when the snapshot was taken (WB-17). f is the file at path full.
func (m *moment) accept(t *tenant, v *kv.View, full string, f *record.File) error {
	switch {
	case full != jail.RunManifest:
		return nil
	case m.frozen():
		return m.manifest.accept(f)
	}
	return t.accept(v, m.in, full, f)
}
