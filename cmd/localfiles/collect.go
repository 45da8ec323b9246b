package localfiles

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// found is a file of the directory, and where it goes.
type found struct {
	name string
	ref  op.FileRef
}

// Collect makes the files below a directory files of a section, below prefix in it ("" for the section itself). A file
// that is not in the workbench is created, one that differs replaces the generation that it was compared with; what the
// workbench has beside stays. Links and special files are refused by name, and never followed.
//
// Errors: the context's; a directory that cannot be read, or is a link. Whatever concerns one file is in the report (invariant 5).
func Collect(ctx context.Context, wb Workbench, dir, id, section, prefix string, o Options) (Report, error) {
	w := newWork(o)
	root, err := openTop(dir)
	if err != nil {
		return w.finish(), err
	}
	defer root.Close()
	c := &collecting{work: w, wb: wb, tree: tree{root}}
	files, err := c.walk(ctx, id, section, prefix)
	if err != nil {
		return w.finish(), c.tree.of(dir, err)
	}
	each(ctx, w.o.Parallel, files, func(f found) { c.file(ctx, f) })
	return w.finish(), ctx.Err()
}

type collecting struct {
	*work
	wb   Workbench
	tree tree
}

// reserved are the files of the section metadata that the workbench writes itself.
func reserved(ref op.FileRef) bool {
	return ref.Section == "metadata" && (ref.Path == "run_manifest.json" || ref.Path == "restore_manifest.json")
}

func (c *collecting) walk(ctx context.Context, id, section, prefix string) (files []found, err error) {
	err = fs.WalkDir(c.tree.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == ".":
			return err
		case err != nil:
			c.problem(name, local(err))
			return nil
		case e.IsDir() && name == partsDir:
			return fs.SkipDir
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			info, err := e.Info()
			if err != nil {
				c.problem(name, local(err))
				return nil
			}
			c.problem(name, "this is "+kind(info)+", and not a regular file")
			return nil
		case !utf8.ValidString(name):
			c.problem(strings.ToValidUTF8(name, "�"), "the name is not UTF-8")
			return nil
		}
		f := found{name, op.FileRef{ID: id, Section: section, Path: path.Join(prefix, name)}}
		if reserved(f.ref) {
			c.skip(name)
			return nil
		}
		size := int64(0)
		if info, err := e.Info(); err == nil {
			size = info.Size()
		}
		c.expect(1, size)
		files = append(files, f)
		return nil
	})
	return files, err
}

func (c *collecting) file(ctx context.Context, f found) {
	size, sent, uncounted, err := c.send(ctx, f)
	var r *errRefused
	var callErr *callError
	switch {
	case err == nil:
		c.done(f.name, size, uncounted, sent)
	case ctx.Err() != nil:
	case errors.As(err, &r):
		c.problem(f.name, r.text)
	case errors.As(err, &callErr):
		c.problem(f.name, said(callErr.err))
	default:
		c.problem(f.name, local(err))
	}
}

const changing = "the file changed while it was read; run it again when it is at rest"

func (c *collecting) send(ctx context.Context, f found) (size int64, sent bool, uncounted int64, err error) {
	in, err := c.tree.open(f.name, os.O_RDONLY)
	if err != nil {
		return 0, false, 0, err
	}
	defer in.Close()
	h := sha256.New()
	head := &prefixWriter{}
	size, err = io.Copy(io.MultiWriter(h, head), &stoppable{ctx, in})
	if err != nil {
		return 0, false, 0, err
	}
	digest := uri(h.Sum(nil))
	counted := int64(0)
	err = c.again(ctx, func() error {
		cond, same, err := c.compare(ctx, f.ref, size, digest)
		if err != nil || same {
			return err
		}
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			return err
		}
		out := &sending{r: &stoppable{ctx, io.LimitReader(in, size)}, told: func(n int64) { counted += n; c.moved(f.name, n) }}
		sent = true
		card, err := c.wb.Files.StoreFile(ctx, f.ref, cond, contentType(f.name, head.b), out, size)
		switch {
		case out.err != nil:
			return out.err
		case out.n < size && out.ended:
			return refused(changing)
		case err != nil:
			return &callError{err}
		case card.DigestURI != digest:
			return refused(changing)
		}
		return nil
	})
	// A file that is refused because somebody wrote it may be our own, when the answer was lost and the call was made again.
	if err != nil && ctx.Err() == nil && sent {
		if _, same, cerr := c.compare(ctx, f.ref, size, digest); cerr == nil && same {
			err = nil
		}
	}
	return size, sent, size - counted, err
}

// compare looks at the workbench's file: whether it is the same already, and else under which condition it may be written
// (invariant 4).
func (c *collecting) compare(ctx context.Context, ref op.FileRef, size int64, digest string) (cond op.FileCondition, same bool, err error) {
	file, err := c.wb.Files.OpenFile(ctx, ref)
	if err != nil {
		if public(err).Code == "NotFound" {
			return cond, false, nil
		}
		return cond, false, &callError{err}
	}
	defer file.Close()
	card := file.Card()
	if card.SizeBytes == size && card.DigestURI == digest {
		return cond, true, nil
	}
	return op.FileCondition{IfGeneration: &card.Generation}, false, nil
}

// prefixWriter keeps the first bytes, by which a type is guessed.
type prefixWriter struct{ b []byte }

func (p *prefixWriter) Write(b []byte) (int, error) {
	if room := 512 - len(p.b); room > 0 {
		p.b = append(p.b, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// sending reads a file, and keeps its errors apart from those of the receiver.
type sending struct {
	r     io.Reader
	told  func(int64)
	n     int64
	ended bool
	err   error
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	s.told(int64(n))
	switch {
	case err == io.EOF:
		s.ended = true
	case err != nil:
		s.err = err
	}
	return n, err
}

// types are those by which a workbench reads a file as records, and a few that are guessed wrongly from the bytes.
var types = map[string]string{
	".json": "application/json", ".jsonl": "application/jsonl", ".ndjson": "application/x-ndjson",
	".yaml": "application/yaml", ".yml": "application/yaml", ".csv": "text/csv; charset=utf-8",
	".md": "text/markdown; charset=utf-8", ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".xml": "application/xml", ".wasm": "application/wasm",
}

// contentType is the same on every machine: by a short table, else by the first bytes.
func contentType(name string, head []byte) string {
	if t, ok := types[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return http.DetectContentType(head)
}
