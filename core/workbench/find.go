package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Find answers UNIMPLEMENTED.
func (w *Workbench) Find(context.Context, *op.WorkbenchFindRequest) (*op.WorkbenchFindResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}
