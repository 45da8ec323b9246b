package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Grep answers UNIMPLEMENTED.
func (w *Workbench) Grep(context.Context, *op.WorkbenchGrepRequest) (*op.WorkbenchGrepResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}
