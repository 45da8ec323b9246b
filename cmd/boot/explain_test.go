package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sawhorse-dev/sawhorse/cmd/boot/datadir"
	"github.com/sawhorse-dev/sawhorse/cmd/words"
	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/backup"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func TestWhatCommandsSay(t *testing.T) {
	disk := &fs.PathError{Op: "write", Path: "/srv/backups/.partial/kv/000007.sst", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err    error
		reason op.Reason
		says   string
	}{
		{fmt.Errorf("backup: kv/000007.sst: %w", disk), op.ReasonResourceExhausted, "DEST"},
		{errors.Join(disk, errors.New("pebble: closing /srv/data/kv")), op.ReasonResourceExhausted, "DEST"},
		{&openError{&fs.PathError{Op: "open", Path: "/srv/data/kv/LOCK", Err: syscall.EACCES}}, op.ReasonWBInvalidState, "--data"},
		{&openError{errors.New(`pebble: database "/srv/data/kv" was written by something`)}, op.ReasonWBInvalidState, "cannot be opened"},
		{&openError{fmt.Errorf("kv: %w (02, this program knows 1)", kv.ErrFormat)}, op.ReasonWBInvalidState, "newer sawhorse"},
		{&openError{fmt.Errorf("%w: a new data directory needs more", kv.ErrNoSpace)}, op.ReasonResourceExhausted, "make room"},
		{&openError{fault.New(op.ReasonResourceExhausted, "")}, op.ReasonResourceExhausted, "disk is nearly full"},
		{&openError{core.OtherRoot("/a/wb", "/b/wb")}, op.ReasonWBInvalidArguments, `made with "/a/wb"`},
		{fmt.Errorf("%w: format 9", backup.ErrManifest), op.ReasonWBInvalidArguments, "no backup in it"},
		{fmt.Errorf("%w: kv/000007.sst is missing", backup.ErrDamaged), op.ReasonWBCorrupt, "Restore another"},
		{backup.ErrNotEmpty, op.ReasonWBInvalidState, "not empty"},
		{core.ErrBusy, op.ReasonUnavailable, "Another backup"},
		{&datadir.HeldError{Dir: "/srv/data", Holder: datadir.Endpoint{PID: 7, Role: "serve"}}, op.ReasonUnavailable, "(pid 7)"},
		{&deafError{&datadir.HeldError{Dir: "/srv/data"}, fmt.Errorf("owner socket: %w", &fs.PathError{Op: "stat", Path: "/srv/data/owner.sock", Err: syscall.EACCES})}, op.ReasonUnavailable, "this user may not"},
		{fmt.Errorf("%w: dial unix /srv/data/owner.sock", datadir.ErrNoOwner), op.ReasonUnavailable, "run it again"},
		{fmt.Errorf("copy: %w", context.Canceled), op.ReasonCancelled, "gave up"},
		{errors.New("/srv/data: anything else"), op.ReasonInternal, ""},
	} {
		f := Explain(c.err, words.Place{Name: "DEST", Path: "/srv/backups"}, DataPlace("/srv/data"))
		if f.Reason != c.reason || !strings.Contains(f.Message, c.says) {
			t.Errorf("%v: %v, want %s and %q", c.err, f, c.reason, c.says)
		}
		for _, inner := range []string{"/srv", "pebble", ".sst", "kv:", "core:", "backup:"} {
			if strings.Contains(f.Message, inner) {
				t.Errorf("%v: %q tells %q", c.err, f.Message, inner)
			}
		}
	}
	if Explain(nil) != nil {
		t.Error("nothing went wrong, and it is explained")
	}
}

// A place that a backup cannot be written to is said in the same words, whoever has the directory open.
func TestABackupThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, owned := range []bool{false, true} {
		c := Config{Dir: t.TempDir(), Role: RoleServe, Logger: slog.New(slog.DiscardHandler)}
		if owned {
			n, err := Own(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if err := n.Publish(""); err != nil {
				t.Fatal(err)
			}
			serving, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- n.Serve(serving) }()
			defer func() {
				stop()
				if err := errors.Join(<-served, n.Close()); err != nil {
					t.Error(err)
				}
			}()
		}
		dest := filepath.Join(file, "below")
		_, err := Backup(context.Background(), c, dest, 0, nil)
		f := Explain(err, words.Place{Name: "DEST", Path: dest}, DataPlace(c.Dir))
		if f == nil || f.Reason != op.ReasonWBInvalidArguments || !strings.HasPrefix(f.Message, "DEST is no directory") {
			t.Errorf("owned %v: %v (%v)", owned, f, err)
		}
	}
}
