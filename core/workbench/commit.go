package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Commit answers UNIMPLEMENTED.
func (w *Workbench) Commit(context.Context, *op.WorkbenchCommitRequest) (*op.WorkbenchCommitResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}
