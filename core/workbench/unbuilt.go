package workbench

import (
	"context"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// The rest of the contract's tools. The catalogue marks them as not built, so a
// gateway refuses them before it comes here; they refuse all the same.

func unbuilt[T any]() (*T, error) { return nil, fault.New(op.ReasonUnimplemented, "") }

// Grep answers UNIMPLEMENTED.
func (w *Workbench) Grep(context.Context, *op.WorkbenchGrepRequest) (*op.WorkbenchGrepResult, error) {
	return unbuilt[op.WorkbenchGrepResult]()
}

// Search answers UNIMPLEMENTED.
func (w *Workbench) Search(context.Context, *op.WorkbenchSearchRequest) (*op.WorkbenchSearchResult, error) {
	return unbuilt[op.WorkbenchSearchResult]()
}

// Aggregate answers UNIMPLEMENTED.
func (w *Workbench) Aggregate(context.Context, *op.WorkbenchAggregateRequest) (*op.WorkbenchAggregateResult, error) {
	return unbuilt[op.WorkbenchAggregateResult]()
}

// Catalog answers UNIMPLEMENTED.
func (w *Workbench) Catalog(context.Context, *op.WorkbenchCatalogRequest) (*op.WorkbenchCatalogResult, error) {
	return unbuilt[op.WorkbenchCatalogResult]()
}

// Find answers UNIMPLEMENTED.
func (w *Workbench) Find(context.Context, *op.WorkbenchFindRequest) (*op.WorkbenchFindResult, error) {
	return unbuilt[op.WorkbenchFindResult]()
}

// Commit answers UNIMPLEMENTED.
func (w *Workbench) Commit(context.Context, *op.WorkbenchCommitRequest) (*op.WorkbenchCommitResult, error) {
	return unbuilt[op.WorkbenchCommitResult]()
}

// Snapshot answers UNIMPLEMENTED.
func (w *Workbench) Snapshot(context.Context, *op.WorkbenchSnapshotRequest) (*op.WorkbenchSnapshotResult, error) {
	return unbuilt[op.WorkbenchSnapshotResult]()
}

// SnapshotRenew answers UNIMPLEMENTED.
func (w *Workbench) SnapshotRenew(context.Context, *op.WorkbenchSnapshotRenewRequest) (*op.WorkbenchSnapshotRenewResult, error) {
	return unbuilt[op.WorkbenchSnapshotRenewResult]()
}

// SnapshotRetire answers UNIMPLEMENTED.
func (w *Workbench) SnapshotRetire(context.Context, *op.WorkbenchSnapshotRetireRequest) (*op.WorkbenchSnapshotRetireResult, error) {
	return unbuilt[op.WorkbenchSnapshotRetireResult]()
}

// SnapshotList answers UNIMPLEMENTED.
func (w *Workbench) SnapshotList(context.Context, *op.WorkbenchSnapshotListRequest) (*op.WorkbenchSnapshotListResult, error) {
	return unbuilt[op.WorkbenchSnapshotListResult]()
}

// Restore answers UNIMPLEMENTED.
func (w *Workbench) Restore(context.Context, *op.WorkbenchRestoreRequest) (*op.WorkbenchRestoreResult, error) {
	return unbuilt[op.WorkbenchRestoreResult]()
}
