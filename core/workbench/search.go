package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Search answers UNIMPLEMENTED.
func (w *Workbench) Search(context.Context, *op.WorkbenchSearchRequest) (*op.WorkbenchSearchResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}
