package localfiles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// wanted is a file of the workbench, and where it goes in the directory.
type wanted struct {
	ref  op.FileRef
	name string
	size int64
}

// Materialize makes the files of a workbench, or of one section of it ("" for all), the content of a directory: files go
// to SECTION/PATH below it, or with one section to PATH. The directory is made when missing. Each file is one generation;
// the files together are those of one moment only when nobody writes meanwhile.
//
// Artifacts outside of the five sections stay where they are. Other files in the directory stay, unless o.Delete.
//
// Errors: the context's; a workbench that cannot be listed; a directory that cannot be made, or is a link. Whatever concerns one file is in
// the report (invariant 5).
func Materialize(ctx context.Context, wb Workbench, id, section, dir string, o Options) (Report, error) {
	w := newWork(o)
	if err := makeTop(dir); err != nil {
		return w.finish(), err
	}
	root, err := openTop(dir)
	if err != nil {
		return w.finish(), err
	}
	defer root.Close()
	m := &materializing{work: w, wb: wb, id: id, section: section, tree: tree{root}}
	files, err := m.list(ctx)
	if err != nil {
		return w.finish(), err
	}
	for _, f := range files {
		w.expect(1, f.size)
	}
	each(ctx, w.o.Parallel, files, func(f wanted) { m.file(ctx, f) })
	if err := ctx.Err(); err != nil {
		return w.finish(), err
	}
	if o.Delete {
		if err := m.removeOthers(files); err != nil {
			return w.finish(), m.tree.of(dir, err)
		}
	}
	if len(w.report.Problems) == 0 {
		if err := root.RemoveAll(partsDir); err != nil {
			return w.finish(), m.tree.of(dir, err)
		}
	}
	return w.finish(), nil
}

type materializing struct {
	*work
	wb          Workbench
	id, section string
	tree        tree
}

// list finds all files. A listing that the workbench moved away from begins anew.
func (m *materializing) list(ctx context.Context) (files []wanted, err error) {
	err = m.again(ctx, func() error {
		files = files[:0]
		if m.section != "" {
			return m.listDir(ctx, m.section, "", &files)
		}
		return m.pages(ctx, nil, "", func(e *op.WorkbenchListEntry) error {
			if e.Section == nil || e.Kind != "directory" {
				return nil
			}
			return m.listDir(ctx, *e.Section, "", &files)
		})
	})
	return files, err
}

func (m *materializing) listDir(ctx context.Context, section, dir string, files *[]wanted) error {
	return m.pages(ctx, &section, dir, func(e *op.WorkbenchListEntry) error {
		relative := path.Join(dir, e.Name)
		if e.Kind == "directory" {
			return m.listDir(ctx, section, relative, files)
		}
		name := relative
		if m.section == "" {
			name = section + "/" + relative
		}
		*files = append(*files, wanted{op.FileRef{ID: m.id, Section: section, Path: relative}, name, *e.SizeBytes})
		return nil
	})
}

func (m *materializing) pages(ctx context.Context, section *string, dir string, fn func(*op.WorkbenchListEntry) error) error {
	req := &op.WorkbenchListRequest{ID: m.id, Section: section}
	if dir != "" {
		req.Path = &dir
	}
	for {
		page, err := m.wb.List(ctx, req)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			if err := fn(&page.Entries[i]); err != nil {
				return err
			}
		}
		if page.NextCursor == nil {
			return nil
		}
		req.Cursor = page.NextCursor
	}
}

func (m *materializing) file(ctx context.Context, f wanted) {
	size, moved, uncounted, err := m.fetch(ctx, f)
	var r *errRefused
	var callErr *callError
	switch {
	case err == nil:
		m.done(f.name, size, uncounted, moved)
	case ctx.Err() != nil: // the run is over; the part stays for the next one
	case errors.As(err, &r):
		m.problem(f.name, r.text)
	case errors.As(err, &callErr):
		m.problem(f.name, said(callErr.err))
	default:
		m.problem(f.name, local(err))
	}
	if err == nil && ctx.Err() == nil {
		m.shadowed(ctx, f)
	}
}

// callError is an error of the workbench, and not of this machine.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// shadowed names what the workbench has below a path that is a file too: a directory of this machine cannot have both.
func (m *materializing) shadowed(ctx context.Context, f wanted) {
	one := int32(1)
	_, err := m.wb.List(ctx, &op.WorkbenchListRequest{ID: m.id, Section: &f.ref.Section, Path: &f.ref.Path, Limit: &one})
	if err == nil {
		m.problem(f.name+"/", "the workbench has files below this path, which is a file as well; here it is the file alone")
	}
}

// fetch brings one file. uncounted is what of its size was not counted while it moved.
func (m *materializing) fetch(ctx context.Context, f wanted) (size int64, moved bool, uncounted int64, err error) {
	if err := nameable(f.name); err != nil {
		return 0, false, 0, err
	}
	if err := m.tree.makeDir(path.Dir(f.name)); err != nil {
		return 0, false, 0, err
	}
	here, there, err := m.tree.regular(f.name)
	if err != nil {
		return 0, false, 0, err
	}
	var file op.File
	if err := m.again(ctx, func() (err error) { file, err = m.wb.Files.OpenFile(ctx, f.ref); return err }); err != nil {
		return 0, false, 0, &callError{err}
	}
	defer file.Close()
	card := file.Card()
	if there && here == card.SizeBytes {
		digest, err := m.tree.digest(ctx, f.name)
		if err != nil {
			return 0, false, 0, err
		}
		if digest == card.DigestURI {
			return card.SizeBytes, false, card.SizeBytes, nil
		}
	}
	if err := m.tree.makeDir(partsDir); err != nil {
		return 0, false, 0, err
	}
	part := partsDir + "/" + partName(f.name, card.DigestURI)
	counted, err := m.download(ctx, f.name, file, part)
	if err != nil {
		return 0, false, 0, err
	}
	// Whatever was put in the file's place meanwhile is looked at again.
	if _, _, err := m.tree.regular(f.name); err != nil {
		return 0, false, 0, err
	}
	return card.SizeBytes, true, card.SizeBytes - counted, m.tree.root.Rename(part, f.name)
}

// partName is the same for the same bytes on their way to the same place, so that a later run finds what is there.
func partName(name, digest string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + digest))
	return hex.EncodeToString(sum[:16])
}

// download fills a part, from where an earlier run has left it, and checks it (invariants 2 and 3). It returns how many
// bytes came.
func (m *materializing) download(ctx context.Context, name string, file op.File, part string) (came int64, err error) {
	card := file.Card()
	out, err := m.tree.open(part, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for attempt := 0; ; attempt++ {
		h := sha256.New()
		at, err := io.Copy(h, &stoppable{ctx, io.LimitReader(out, card.SizeBytes)})
		if err != nil {
			return 0, err
		}
		if err := out.Truncate(at); err != nil {
			return 0, err
		}
		kept := at
		err = m.again(ctx, func() error {
			d := &downloading{out: out, hash: h, told: func(n int64) { came += n; m.moved(name, n) }}
			err := file.WriteRange(ctx, d, at, card.SizeBytes-at)
			at += d.n
			if d.err != nil {
				return d.err
			}
			if err != nil {
				return &callError{err}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		if uri(h.Sum(nil)) == card.DigestURI {
			return came, nil
		}
		if kept == 0 || attempt > 0 {
			return 0, refused("the bytes that came do not have the digest that was announced")
		}
		// What an earlier run has left was damaged: all of it again.
		if err := out.Truncate(0); err != nil {
			return 0, err
		}
		if _, err := out.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
	}
}

// downloading writes to a part and to its digest, and keeps errors of the part apart from those of the sender.
type downloading struct {
	out  *os.File
	hash hash.Hash
	told func(int64)
	n    int64
	err  error
}

func (d *downloading) Write(p []byte) (int, error) {
	n, err := d.out.Write(p)
	d.hash.Write(p[:n])
	d.n += int64(n)
	d.told(int64(n))
	d.err = err
	return n, err
}

// removeOthers removes the regular files that the workbench does not have.
func (m *materializing) removeOthers(files []wanted) error {
	have := make(map[string]bool, len(files))
	for _, f := range files {
		have[f.name] = true
	}
	var others []string
	err := fs.WalkDir(m.tree.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name == partsDir:
			return fs.SkipDir
		case e.Type().IsRegular() && !have[name]:
			others = append(others, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(others)
	for _, name := range others {
		if err := m.tree.root.Remove(name); err != nil {
			m.problem(name, local(err))
			continue
		}
		m.report.Removed = append(m.report.Removed, name)
	}
	return nil
}
