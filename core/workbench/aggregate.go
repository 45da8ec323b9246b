package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Aggregate answers UNIMPLEMENTED.
func (w *Workbench) Aggregate(context.Context, *op.WorkbenchAggregateRequest) (*op.WorkbenchAggregateResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}
