package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Catalog answers UNIMPLEMENTED.
func (w *Workbench) Catalog(context.Context, *op.WorkbenchCatalogRequest) (*op.WorkbenchCatalogResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}
