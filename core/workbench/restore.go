package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Restore answers UNIMPLEMENTED.
func (w *Workbench) Restore(context.Context, *op.WorkbenchRestoreRequest) (*op.WorkbenchRestoreResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}
