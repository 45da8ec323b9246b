package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/errors/oserror"

	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// restoring is where the store's files are put together; the store is there when
// it is renamed. core/kv refuses to open a directory that has it.
const restoring = kv.RestoringDir

// ErrNotEmpty says that the directory to restore into holds something.
var ErrNotEmpty = errors.New("backup: the directory is not empty; restore into one that is, or that does not exist")

// ErrDamaged says that a backup does not hold the bytes that it was made with.
var ErrDamaged = errors.New("backup: damaged")

// Find returns the backup that path means: path itself when it is one, else the
// newest finished one in it.
//
// Errors: ErrManifest; of the file system.
func Find(fs kv.FS, path string) (dir string, m *Manifest, err error) {
	if _, err := fs.Stat(fs.PathJoin(path, manifestName)); err == nil {
		m, err := readManifest(fs, path)
		return path, m, err
	}
	entries, err := fs.List(path)
	if err != nil {
		return "", nil, err
	}
	names := slices.DeleteFunc(slices.Clone(entries), func(name string) bool { return !isBackup(name) })
	if len(names) == 0 {
		return "", nil, fmt.Errorf("%w: no backup in it", ErrManifest)
	}
	slices.Sort(names)
	dir = fs.PathJoin(path, names[len(names)-1])
	m, err = readManifest(fs, dir)
	return dir, m, err
}

// Restore makes a data directory of a backup: dir must be missing or empty, but
// for files that mayStay says may be there, or hold what an earlier Restore that
// was cut off has left. Every byte is checked against the manifest as it is
// copied (BAK-4).
//
// Errors: ErrNotEmpty; ErrDamaged; of the file system; of the context.
func Restore(ctx context.Context, fs kv.FS, from string, m *Manifest, dir string, mayStay func(name string) bool, progress Progress) error {
	if err := makeDirs(fs, dir); err != nil {
		return err
	}
	if err := clear(fs, dir, mayStay); err != nil {
		return err
	}
	store := fs.PathJoin(dir, restoring)
	if err := makeDirs(fs, store); err != nil {
		return err
	}
	dirs := map[string]bool{store: true, dir: true}
	buf := make([]byte, copyBuffer)
	total, done := m.Bytes(), int64(0)
	for _, f := range m.Files {
		to := join(fs, dir, place(f.Path))
		parent := fs.PathDir(to)
		if !dirs[parent] {
			if err := fs.MkdirAll(parent, 0o700); err != nil {
				return err
			}
			for d := parent; !dirs[d]; d = fs.PathDir(d) {
				dirs[d] = true
			}
		}
		sum, err := copyFile(ctx, fs, join(fs, from, f.Path), to, f.SizeBytes, buf)
		if err != nil {
			if oserror.IsNotExist(err) || errors.Is(err, errShort) {
				err = fmt.Errorf("%w: %s is missing or too short", ErrDamaged, f.Path)
			}
			return err
		}
		if sum != f.SHA256 {
			return fmt.Errorf("%w: %s has other bytes than it was made with", ErrDamaged, f.Path)
		}
		if done += f.SizeBytes; progress != nil {
			progress(done, total, f.Path)
		}
	}
	for d := range dirs {
		if err := syncDir(fs, d); err != nil {
			return err
		}
	}
	if err := fs.Rename(store, fs.PathJoin(dir, storeDir)); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// place is where a file of a backup goes in the directory that is being made.
func place(path string) string {
	if rest, ok := cutDir(path, storeDir); ok {
		return restoring + "/" + rest
	}
	return path
}

// clear makes sure that a directory is empty, and takes the remains of a Restore
// that was cut off for nothing.
func clear(fs kv.FS, dir string, mayStay func(name string) bool) error {
	entries, err := fs.List(dir)
	if err != nil {
		return err
	}
	left := slices.Contains(entries, restoring)
	for _, name := range entries {
		switch {
		case name == restoring, left && name == bodiesDir:
		case mayStay != nil && mayStay(name):
		default:
			return ErrNotEmpty
		}
	}
	if !left {
		return nil
	}
	// The mark of an unfinished restore goes last.
	return errors.Join(removeAll(fs, fs.PathJoin(dir, bodiesDir)), removeAll(fs, fs.PathJoin(dir, restoring)))
}
