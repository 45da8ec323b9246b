package core_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

var ctx = context.Background()

func ptr[T any](v T) *T { return &v }

// options are those of a store in memory, on a fake clock, with seeded ids.
func options(fs kv.FS) core.Options {
	return core.Options{
		FS: fs, Dir: "data", Clock: clock.NewFake(kvtest.Epoch), IDs: kvtest.IDs(7), NoBackground: true, Version: "test",
		CacheBytes: 8 << 20, MemTableBytes: 256 << 10, HistoryWindow: -1, FreeSpaceFloorBytes: -1, BallastBytes: -1,
	}
}

func open(t testing.TB, o core.Options) *core.Core {
	t.Helper()
	c, err := core.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func shut(t testing.TB, c *core.Core) {
	t.Helper()
	report, err := c.Check(ctx)
	if err := errors.Join(err, report.Err(), c.Close()); err != nil {
		t.Fatal(err)
	}
}

// CORE-2
func TestTheWorkbenchRootIsThatOfTheFirstOpening(t *testing.T) {
	fs := kvtest.NewCrashFS()
	o := options(fs)
	for _, bad := range []string{"/", "relative", "/a/../b", "/a\\b"} {
		o.WorkbenchRoot = bad
		if _, err := core.Open(ctx, o); !errors.Is(err, core.ErrWorkbenchRoot) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	o.WorkbenchRoot = "/agents//seven/wb/"
	c := open(t, o)
	if _, err := c.API().Workbench.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb1"}); err != nil {
		t.Error(err)
	}
	tenant, installation := c.TenantID(), c.InstallationID()
	shut(t, c)

	for wanted, ok := range map[string]bool{"": true, "/agents/seven/wb": true, "/agents/seven/wb/": true, "/agents/default/wb": false, "/": false} {
		o.WorkbenchRoot = wanted
		c, err := core.Open(ctx, o)
		if !ok {
			if !errors.Is(err, core.ErrWorkbenchRoot) {
				t.Errorf("%q: %v", wanted, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.API().Workbench.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1"})
		if err != nil || res.Path != "/agents/seven/wb/wb1" || c.WorkbenchRoot() != "/agents/seven/wb" {
			t.Errorf("%q: %+v, %v, %s", wanted, res, err, c.WorkbenchRoot())
		}
		if c.TenantID() != tenant || c.InstallationID() != installation || c.Principal().Tenant != tenant || c.Principal().User != "1" {
			t.Error("the directory has become another")
		}
		shut(t, c)
	}
}

func TestTheDefaultRoot(t *testing.T) {
	c := open(t, options(kvtest.NewCrashFS()))
	if got := c.WorkbenchRoot(); got != "/agents/default/wb" {
		t.Error(got)
	}
	shut(t, c)
}

// CORE-2: what a client holds stays good over a restart.
func TestCursorsOutliveARestart(t *testing.T) {
	fs := kvtest.NewCrashFS()
	c := open(t, options(fs))
	for _, path := range []string{"a", "b"} {
		if _, err := c.API().Workbench.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "logs", Path: path, Text: ptr("")}); err != nil {
			t.Fatal(err)
		}
	}
	res, err := c.API().Workbench.List(ctx, &op.WorkbenchListRequest{ID: "wb1", Section: ptr("logs"), Limit: ptr(int32(1))})
	if err != nil || res.NextCursor == nil {
		t.Fatal(res, err)
	}
	shut(t, c)
	o := options(fs)
	o.IDs = kvtest.IDs(99)
	c = open(t, o)
	res, err = c.API().Workbench.List(ctx, &op.WorkbenchListRequest{ID: "wb1", Section: ptr("logs"), Cursor: res.NextCursor})
	if err != nil || len(res.Entries) != 1 || res.Entries[0].Name != "b" {
		t.Errorf("%+v, %v", res, err)
	}
	shut(t, c)
}

func TestTheWholeAPIIsThere(t *testing.T) {
	o := options(kvtest.NewCrashFS())
	o.Revision = strings.Repeat("ab", 20)
	o.LifecycleDisabled = true
	c := open(t, o)
	status, err := c.API().Operator.GetRuntimeStatus(ctx, &op.OperatorGetRuntimeStatusRequest{})
	if err != nil || status.Data.GitRevision != "abababababab" || status.GeneratedAt != "2026-01-02T03:04:05Z" {
		t.Errorf("%+v, %v", status, err)
	}
	if _, err := c.API().Jobs.GetCapabilities(ctx, &op.JobsGetCapabilitiesRequest{}); !fault.Is(err, op.ReasonJobLifecycleDisabled) {
		t.Error(err)
	}
	if c.API().Files == nil || c.Stats().KV.Roots != 0 {
		t.Errorf("%+v", c.Stats())
	}
	shut(t, c)
	if _, err := c.API().Workbench.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb1"}); !fault.Is(err, op.ReasonUnavailable) {
		t.Errorf("a closed store answers %v", err)
	}
}

// CORE-3: whatever goes wrong below, the answer names no file of the machine.
func TestErrorsDoNotNameTheDataDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a-very-private-place")
	o := options(nil)
	o.Dir = dir
	c := open(t, o)
	api := c.API()
	big := strings.Repeat("x", 1<<20)
	if _, err := api.Workbench.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "logs", Path: "a", Text: &big}); err != nil {
		t.Fatal(err)
	}
	// Take the bodies away behind the store's back.
	if err := os.RemoveAll(filepath.Join(dir, "bodies")); err != nil {
		t.Fatal(err)
	}
	_, readErr := api.Workbench.Read(ctx, &op.WorkbenchReadRequest{ID: "wb1", Section: "logs", Path: "a"})
	_, editErr := api.Workbench.Edit(ctx, &op.WorkbenchEditRequest{ID: "wb1", Section: "logs", Path: "a", OldString: "x", NewString: "y"})
	_, putErr := api.Workbench.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "logs", Path: "b", Text: &big})
	for name, err := range map[string]error{"read": readErr, "edit": editErr, "put": putErr} {
		if err == nil {
			t.Errorf("%s went through", name)
			continue
		}
		f := fault.From(err)
		if strings.Contains(f.Error(), "private-place") || strings.Contains(f.Error(), "bodies") {
			t.Errorf("%s: %v", name, f)
		}
		for _, d := range f.Details {
			if s, ok := d.Value.(string); ok && strings.Contains(s, "private-place") {
				t.Errorf("%s: detail %s", name, s)
			}
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
