package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
)

// RestoringDir is the name under which a restore puts the store's files together
// in a data directory. While it is there, Open refuses the directory.
const RestoringDir = "kv.restoring"

// ErrRestoring says that a restore into the data directory was cut off.
var ErrRestoring = errors.New("kv: a restore into this data directory has not come to its end; run it again")

// Checkpoint writes the store's files of one moment to a new directory, which
// can be opened as Dir/kv later: everything that was acknowledged before the
// call, and of each later update all or nothing. Tables are linked when the file
// system can do that. Updates go on meanwhile.
//
// Errors: of the file system, also when the directory is there; UNAVAILABLE.
func (s *Store) Checkpoint(ctx context.Context, dir string) error {
	if ctx.Err() != nil {
		return contextFault(ctx)
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if s.readOnly.on.Load() {
		return s.noSpace()
	}
	if err := s.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("kv: checkpoint: %w", err)
	}
	return nil
}

// refuseRestoring refuses a directory in which a restore has not come to its end:
// its last step gives the store's files their name.
func (s *Store) refuseRestoring() error {
	for _, c := range []struct {
		name    string
		refused bool
	}{{storeDir, false}, {RestoringDir, true}} {
		switch _, err := s.fs.Stat(s.fs.PathJoin(s.opts.Dir, c.name)); {
		case err == nil && c.refused:
			return ErrRestoring
		case err == nil:
			return nil
		case !oserror.IsNotExist(err):
			return err
		}
	}
	return nil
}
