package boot

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sawhorse-dev/sawhorse/cmd/boot/datadir"
	"github.com/sawhorse-dev/sawhorse/core/clock"
)

// The owner sees by itself that its endpoint file is gone or spoilt.
func TestTheOwnerWatchesItsEndpoint(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		owner, err := datadir.Acquire(dir, RoleServe, fake.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer owner.Close()
		if err := owner.Publish("http://127.0.0.1:1", "/agents/a/wb", "test"); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "endpoint")
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := &Node{owner: owner, log: slog.New(slog.DiscardHandler), clock: fake}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go n.watchEndpoint(ctx)
		for name, spoil := range map[string]func() error{
			"deleted": func() error { return os.Remove(path) },
			"garbled": func() error { return os.WriteFile(path, []byte("{"), 0o600) },
		} {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			fake.Advance(renewEvery)
			synctest.Wait()
			if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	})
}
