package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// About reads what is stored of a file.
func (w *Workbench) About(ctx context.Context, id, full string) (f record.File, err error) {
	t, err := w.tenant(ctx)
	if err != nil {
		return f, err
	}
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
		in, _, err := t.see(v, id)
		if err != nil {
			return err
		}
		f, _, err = t.file(v, in, full)
		f.Body = f.Body.Clone()
		return err
	})
	return f, err
}

// HeadOf reads the content revision of a workbench.
func (w *Workbench) HeadOf(ctx context.Context, id string) (rev uint64, err error) {
	t, err := w.tenant(ctx)
	if err != nil {
		return 0, err
	}
	err = w.store.View(ctx, t.root, func(v *kv.View) error {
		in, _, err := t.see(v, id)
		if err != nil {
			return err
		}
		h, err := t.head(v, in)
		rev = h.ContentRevision
		return err
	})
	return rev, err
}
