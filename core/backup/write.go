package backup

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// Names in a data directory and in a backup. Part of the format.
const (
	storeDir  = "kv"
	bodiesDir = "bodies"
)

// Names in a destination.
const (
	namePrefix    = "backup-"
	nameForm      = "20060102T150405.000Z"
	partialPrefix = ".partial-"
)

// workDir is where the store's files of one moment are linked while they are
// copied, in the data directory.
const workDir = "backup.work"

// Progress is told while files are copied and checked.
type Progress func(done, total int64, file string)

// Options say how to write a backup.
type Options struct {
	// Dest is the directory of the backups; it is made when missing, and is not in
	// the data directory.
	Dest string
	// Keep is how many backups stay in Dest, this one among them; 0 keeps all.
	Keep int
	// Progress may be nil.
	Progress Progress
}

// Result says what Write did.
type Result struct {
	// Name is that of the new backup in its destination.
	Name string
	// Files and Bytes count all of it; CopiedBytes what no earlier backup had.
	Files       int
	Bytes       int64
	CopiedBytes int64
	// Removed names the backups that were over Options.Keep.
	Removed []string
}

// ErrInside says that a backup was to be written into the data directory itself.
var ErrInside = errors.New("backup: the destination lies in the data directory")

// Sweep removes what a Write that was cut off has left in the data directory. It
// is called when the directory is opened.
func Sweep(store *kv.Store) error {
	return removeAll(store.FS(), store.FS().PathJoin(store.Dir(), workDir))
}

// Write makes a backup of an open data directory (BAK-1, BAK-3). It is durable
// when Write returns. One Write runs at a time for a store; that is the caller's
// care.
//
// Errors: ErrInside; of the file system; of the context.
func Write(ctx context.Context, store *kv.Store, bodies *blob.Store, o Options) (Result, error) {
	fs := store.FS()
	w := &writer{fs: fs, dest: o.Dest, progress: o.Progress, buf: make([]byte, copyBuffer)}
	if inside(fs, store.Dir(), o.Dest) {
		return Result{}, ErrInside
	}
	if err := makeDirs(fs, o.Dest); err != nil {
		return Result{}, err
	}
	names, err := w.finished()
	if err != nil {
		return Result{}, err
	}
	if len(names) > 0 {
		w.previous = names[len(names)-1]
		earlier, err := readManifest(fs, fs.PathJoin(o.Dest, w.previous))
		if err != nil {
			// What cannot be read is of no use to link to; it stays as it is (BAK-5).
			w.previous = ""
		} else {
			w.earlier = make(map[string]File, len(earlier.Files))
			for _, f := range earlier.Files {
				w.earlier[f.Path] = f
			}
		}
	}
	res, err := w.write(ctx, store, bodies, names)
	if err != nil {
		return Result{}, err
	}
	if o.Keep > 0 {
		all := append(names, res.Name)
		for len(all) > o.Keep {
			if err := w.remove(all[0]); err != nil {
				return res, err
			}
			res.Removed = append(res.Removed, all[0])
			all = all[1:]
		}
	}
	return res, nil
}

// writer is one run of Write.
type writer struct {
	fs       kv.FS
	dest     string
	previous string          // the newest finished backup, or ""
	earlier  map[string]File // what it holds
	progress Progress
	buf      []byte

	done, total int64
	copied      int64
	files       []File
	dirs        map[string]bool // made in the partial backup
}

// finished returns the names of the finished backups, oldest first, and removes
// what a Write that was cut off has left (BAK-2).
func (w *writer) finished() ([]string, error) {
	entries, err := w.fs.List(w.dest)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range entries {
		switch {
		case strings.HasPrefix(name, partialPrefix):
			if err := removeAll(w.fs, w.fs.PathJoin(w.dest, name)); err != nil {
				return nil, err
			}
		case isBackup(name):
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func isBackup(name string) bool {
	text, ok := strings.CutPrefix(name, namePrefix)
	if !ok {
		return false
	}
	_, err := time.Parse(nameForm, text)
	return err == nil
}

func (w *writer) write(ctx context.Context, store *kv.Store, bodies *blob.Store, names []string) (res Result, err error) {
	work := w.fs.PathJoin(store.Dir(), workDir)
	if err := removeAll(w.fs, work); err != nil {
		return res, err
	}
	// From here on no file of a body goes away: whatever the store's files of the
	// moment that follows refer to is there while it is copied.
	release := bodies.Freeze()
	defer release()
	at := store.Clock().Now().UTC()
	if len(names) > 0 {
		// A name is later than those before it, whatever the machine's clock did.
		last, err := time.Parse(nameForm, strings.TrimPrefix(names[len(names)-1], namePrefix))
		if err == nil && !at.After(last) {
			at = last.Add(time.Millisecond)
		}
	}
	res.Name = namePrefix + at.Format(nameForm)
	partial := w.fs.PathJoin(w.dest, partialPrefix+res.Name)
	defer func() {
		if rerr := removeAll(w.fs, work); err == nil {
			err = rerr
		}
		if err != nil {
			err = errors.Join(err, removeAll(w.fs, partial))
		}
	}()
	if err := store.Checkpoint(ctx, work); err != nil {
		return res, err
	}
	kvFiles, err := walk(w.fs, work, storeDir)
	if err != nil {
		return res, err
	}
	segments, err := walk(w.fs, w.fs.PathJoin(store.Dir(), bodiesDir), bodiesDir)
	if err != nil {
		return res, err
	}
	sources := append(segments, kvFiles...)
	slices.SortFunc(sources, func(a, b source) int { return cmp.Compare(a.path, b.path) })
	for _, s := range sources {
		w.total += s.size
	}
	if err := makeDirs(w.fs, partial); err != nil {
		return res, err
	}
	w.dirs = map[string]bool{partial: true}
	for _, s := range sources {
		if err := w.take(ctx, partial, s); err != nil {
			return res, fmt.Errorf("backup: %s: %w", s.path, err)
		}
	}
	id := store.InstallationID()
	m := Manifest{Format: format, Installation: hex.EncodeToString(id[:]), At: at, Files: w.files}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return res, err
	}
	if err := writeFile(w.fs, w.fs.PathJoin(partial, manifestName), append(text, '\n')); err != nil {
		return res, err
	}
	for dir := range w.dirs {
		if err := syncDir(w.fs, dir); err != nil {
			return res, err
		}
	}
	if err := w.fs.Rename(partial, w.fs.PathJoin(w.dest, res.Name)); err != nil {
		return res, err
	}
	res.Files, res.Bytes, res.CopiedBytes = len(w.files), m.Bytes(), w.copied
	return res, syncDir(w.fs, w.dest)
}

// take brings one file into the backup: as a link to the earlier backup's when
// that has the same bytes under the same path, else as a copy. A store's file
// numbers begin again after a restore, so the name alone says nothing.
func (w *writer) take(ctx context.Context, partial string, s source) error {
	to := join(w.fs, partial, s.path)
	if err := w.makeParents(partial, s.path); err != nil {
		return err
	}
	if earlier, ok := w.earlier[s.path]; ok && earlier.SizeBytes == s.size {
		sum, err := digest(ctx, w.fs, s.at, s.size, w.buf)
		if err != nil {
			return err
		}
		if sum == earlier.SHA256 {
			from := join(w.fs, w.fs.PathJoin(w.dest, w.previous), s.path)
			if err := w.fs.Link(from, to); err == nil {
				w.add(s, File{Path: s.path, SizeBytes: s.size, SHA256: sum})
				return nil
			}
			// Not every file system links; and the file may be gone.
		}
	}
	sum, err := copyFile(ctx, w.fs, s.at, to, s.size, w.buf)
	if err != nil {
		return err
	}
	w.copied += s.size
	w.add(s, File{Path: s.path, SizeBytes: s.size, SHA256: sum})
	return nil
}

func (w *writer) add(s source, f File) {
	w.files = append(w.files, f)
	w.done += s.size
	if w.progress != nil {
		w.progress(w.done, w.total, s.path)
	}
}

func (w *writer) makeParents(partial, rel string) error {
	dir := w.fs.PathDir(join(w.fs, partial, rel))
	if w.dirs[dir] {
		return nil
	}
	if err := w.fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for d := dir; d != partial; d = w.fs.PathDir(d) {
		w.dirs[d] = true
	}
	return nil
}

// remove takes a backup's name away before its files, so that what is left of it
// after a crash is no backup.
func (w *writer) remove(name string) error {
	from, gone := w.fs.PathJoin(w.dest, name), w.fs.PathJoin(w.dest, partialPrefix+name)
	if err := w.fs.Rename(from, gone); err != nil {
		return err
	}
	return errors.Join(syncDir(w.fs, w.dest), removeAll(w.fs, gone))
}
