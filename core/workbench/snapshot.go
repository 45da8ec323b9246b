package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Snapshot answers UNIMPLEMENTED.
func (w *Workbench) Snapshot(context.Context, *op.WorkbenchSnapshotRequest) (*op.WorkbenchSnapshotResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}

// SnapshotRenew answers UNIMPLEMENTED.
func (w *Workbench) SnapshotRenew(context.Context, *op.WorkbenchSnapshotRenewRequest) (*op.WorkbenchSnapshotRenewResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}

// SnapshotRetire answers UNIMPLEMENTED.
func (w *Workbench) SnapshotRetire(context.Context, *op.WorkbenchSnapshotRetireRequest) (*op.WorkbenchSnapshotRetireResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}

// SnapshotList answers UNIMPLEMENTED.
func (w *Workbench) SnapshotList(context.Context, *op.WorkbenchSnapshotListRequest) (*op.WorkbenchSnapshotListResult, error) {
	return nil, fault.New(op.ReasonUnimplemented, "")
}
