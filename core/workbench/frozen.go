package workbench

import (
	"context"
	"errors"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// moment is the state of a workbench that a reading tool shows.
type moment struct {
	in keys.Incarnation
	// snapshot is the id of the snapshot that keeps the state; 0 means the live
	// state.
	snapshot uint64
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
	var last kv.Revision
	for {
		m, rev, err := w.freeze(ctx, t, p, *sel)
		if err != nil {
			return err
		}
		if rev == last {
			return corrupt(errors.New("workbench: the files of an active snapshot are gone (WB-12)"))
		}
		shown := false
		err = w.store.ViewAt(ctx, t.root, rev, func(v *kv.View) error {
			shown = true
			return fn(v, m)
		})
		if shown || !errors.Is(err, kv.ErrBelowFloor) {
			return err
		}
		// The snapshot ended between the two Views: the next look says so.
		last = rev
	}
}

// freeze resolves a selector and returns the revision at which to read.
func (w *Workbench) freeze(ctx context.Context, t *tenant, p jail.Place, sel op.IntOrString) (m moment, rev kv.Revision, err error) {
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
		var ok bool
		if m.in, ok, err = t.see(v, p.ID); err != nil {
			return err
		}
		if !ok {
			return noWorkbench(p)
		}
		id, s, ok, err := t.snapshotFor(v, m.in, sel)
		if err != nil {
			return err
		}
		if !ok {
			return noSnapshot(p)
		}
		state, err := w.stateOf(v, t, m.in, id, &s, w.store.Clock().Now())
		if err != nil {
			return err
		}
		m.snapshot, rev = id, kv.Revision(s.Revision)
		return readable(state)
	})
	return m, rev, err
}
