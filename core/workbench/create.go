package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Create makes a workbench, or finds that it is there. Afterwards its marker is
// durable.
func (w *Workbench) Create(ctx context.Context, req *op.WorkbenchCreateRequest) (*op.WorkbenchCreateResult, error) {
	if err := jail.CheckID(req.ID); err != nil {
		return nil, named(err)
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.create(ctx, t, req.ID); err != nil {
		return nil, err
	}
	return &op.WorkbenchCreateResult{WorkbenchID: req.ID, Path: w.root.Workbench(req.ID), Sections: jail.SectionNames()}, nil
}

func (w *Workbench) create(ctx context.Context, t *tenant, id string) error {
	if _, ok := t.known(id); ok {
		return nil
	}
	in, err := w.mint(t, id)
	if err != nil {
		return err
	}
	var found life
	err = w.store.Update(ctx, t.root, func(tx *kv.Tx) error {
		var ok bool
		var err error
		if found, ok, err = t.find(tx, id); err != nil || ok {
			return err
		}
		t.begin(tx, id, in)
		found = life{in, tx.Revision()}
		return nil
	})
	if err != nil {
		return err
	}
	t.learn(id, found)
	return nil
}
