package boot

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/sawhorse-dev/sawhorse/cmd/boot/datadir"
	"github.com/sawhorse-dev/sawhorse/core/backup"
	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// RestoreBackup makes a data directory of the backup at from, or of the newest one in it. dir must be missing or empty.
// Nobody can open it until it is whole.
func RestoreBackup(ctx context.Context, from, dir string, progress backup.Progress) (*backup.Manifest, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return nil, err
	}
	fs := kv.Disk()
	found, m, err := backup.Find(fs, from)
	if err != nil {
		return nil, err
	}
	owner, err := datadir.Acquire(dir, RoleRestore, time.Now())
	if err != nil {
		return nil, err
	}
	err = backup.Restore(ctx, fs, found, m, owner.Dir(), datadir.IsOwn, progress)
	return m, errors.Join(err, owner.Close())
}
