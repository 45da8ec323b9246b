package localfiles

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server"
	"github.com/sawhorse-dev/sawhorse/server/call"
	"github.com/sawhorse-dev/sawhorse/server/remote"
)

var ctx = context.Background()

// workbenches opens a store, and returns it twice: as this process sees it, and over HTTP.
func workbenches(t *testing.T) map[string]Workbench {
	t.Helper()
	c, err := core.Open(ctx, core.Options{Dir: t.TempDir(), NoBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{API: c.API(), Principal: c.Principal()})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s.Handler())
	client := remote.New(ts.URL, nil)
	t.Cleanup(func() {
		client.Close()
		ts.Close()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := call.New(call.Options{Invoke: client.Call})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Workbench{
		"here": {List: c.API().Workbench.List, Files: c.API().Files},
		"over HTTP": {Files: client, List: func(ctx context.Context, req *op.WorkbenchListRequest) (*op.WorkbenchListResult, error) {
			res, err := p.Via(call.Local, "").Call(ctx, op.WorkbenchListOp, req)
			if err != nil {
				return nil, err
			}
			return res.(*op.WorkbenchListResult), nil
		}},
	}
}

func one(t *testing.T) Workbench { return workbenches(t)["over HTTP"] }

// noWait makes tests not wait.
var noWait = Options{Wait: func(context.Context, time.Duration) error { return nil }}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func collect(t *testing.T, wb Workbench, dir string) Report {
	t.Helper()
	r, err := Collect(ctx, wb, dir, "wb1", "outputs", "", noWait)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func materialize(t *testing.T, wb Workbench, dir string, o Options) Report {
	t.Helper()
	o.Wait = noWait.Wait
	r, err := Materialize(ctx, wb, "wb1", "outputs", dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func clean(t *testing.T, r Report) {
	t.Helper()
	if len(r.Problems) > 0 {
		t.Errorf("problems: %v", r.Problems)
	}
}

var odd = map[string]string{
	"empty": "", "a/b/c.txt": "deep", "a-b/x": "1", "sp ace/ü/漢字.md": "# odd", "per%cent?#&+": "2", "tab\tnew\nline": "3", "..dots": "4",
	"large.bin": strings.Repeat("0123456789abcdef", 100_000), "data.jsonl": "{\"a\":1}\n",
}

// Invariants 2 and 3.
func TestThereAndBack(t *testing.T) {
	for name, wb := range workbenches(t) {
		t.Run(name, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			write(t, from, odd)
			first := collect(t, wb, from)
			clean(t, first)
			if first.Files != len(odd) {
				t.Errorf("%+v", first)
			}
			back := materialize(t, wb, to, Options{})
			clean(t, back)
			if got := read(t, to); !maps.Equal(got, odd) {
				t.Errorf("came back as %q", slices.Sorted(maps.Keys(got)))
			}
			if again := materialize(t, wb, to, Options{}); again.Moved != 0 || again.MovedBytes != 0 || again.Files != len(odd) {
				t.Errorf("a second time: %+v", again)
			}
			if again := collect(t, wb, to); again.Moved != 0 || again.MovedBytes != 0 || again.Files != len(odd) {
				t.Errorf("collected a second time: %+v", again)
			}
			write(t, to, map[string]string{"empty": "no longer"})
			if r := collect(t, wb, to); r.Moved != 1 || r.MovedBytes != 9 {
				t.Errorf("one changed file: %+v", r)
			}
			if r := materialize(t, wb, from, Options{}); r.Moved != 1 || read(t, from)["empty"] != "no longer" {
				t.Errorf("one changed file back: %+v", r)
			}
		})
	}
}

// All sections go to directories of their names; what the workbench writes itself is not sent.
func TestAWholeWorkbench(t *testing.T) {
	wb := one(t)
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "made", "on the way")
	write(t, from, map[string]string{"a.txt": "one", "run_manifest.json": "{}"})
	for _, section := range []string{"input", "metadata"} {
		r, err := Collect(ctx, wb, from, "wb1", section, "sub/dir", noWait)
		if err != nil {
			t.Fatal(err)
		}
		clean(t, r)
	}
	r, err := Collect(ctx, wb, from, "wb1", "metadata", "", noWait)
	if err != nil || r.Files != 1 || !slices.Equal(r.Skipped, []string{"run_manifest.json"}) {
		t.Errorf("%+v %v", r, err)
	}
	r, err = Materialize(ctx, wb, "wb1", "", to, noWait)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)
	want := []string{"input/sub/dir/a.txt", "input/sub/dir/run_manifest.json", "metadata/a.txt", "metadata/sub/dir/a.txt", "metadata/sub/dir/run_manifest.json"}
	if got := slices.Sorted(maps.Keys(read(t, to))); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := Materialize(ctx, wb, "nobody", "", to, noWait); public(err).Code != "NotFound" {
		t.Errorf("a workbench that is not there: %v", err)
	}
}

// cut ends a run after so many bytes of bodies.
type cut struct {
	op.Files
	left   atomic.Int64
	cancel context.CancelFunc
}

func (c *cut) OpenFile(ctx context.Context, ref op.FileRef) (op.File, error) {
	f, err := c.Files.OpenFile(ctx, ref)
	return &cutFile{f, c}, err
}

type cutFile struct {
	op.File
	cut *cut
}

func (f *cutFile) WriteRange(ctx context.Context, w io.Writer, off, n int64) error {
	return f.File.WriteRange(ctx, &cutWriter{w, f.cut}, off, n)
}

type cutWriter struct {
	w   io.Writer
	cut *cut
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if w.cut.left.Add(-int64(len(p))) < 0 {
		w.cut.cancel()
		return 0, context.Canceled
	}
	return w.w.Write(p)
}

// Invariant 3: what was cut off goes on, and does not begin anew.
func TestAnInterruptionIsGoneOnFrom(t *testing.T) {
	for name, wb := range workbenches(t) {
		t.Run(name, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			body := strings.Repeat("0123456789abcdef", 1<<16)
			write(t, from, map[string]string{"large": body})
			clean(t, collect(t, wb, from))
			cancelled, cancel := context.WithCancel(ctx)
			c := &cut{Files: wb.Files, cancel: cancel}
			c.left.Store(600_000)
			_, err := Materialize(cancelled, Workbench{wb.List, c}, "wb1", "outputs", to, noWait)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%v", err)
			}
			if got := read(t, to); got["large"] != "" || len(got) != 1 {
				t.Errorf("after the interruption: %d files", len(got))
			}
			r := materialize(t, wb, to, Options{})
			clean(t, r)
			if r.MovedBytes > int64(len(body))-400_000 || r.MovedBytes < int64(len(body))-600_000 || r.Moved != 1 {
				t.Errorf("went on with %d of %d bytes", r.MovedBytes, len(body))
			}
			if got := read(t, to); len(got) != 1 || got["large"] != body {
				t.Errorf("in the end: %d files", len(got))
			}
		})
	}
}

// Invariant 2: a part that was damaged meanwhile is not gone on from.
func TestADamagedPart(t *testing.T) {
	wb := one(t)
	from, to := t.TempDir(), t.TempDir()
	write(t, from, map[string]string{"a": "the right bytes"})
	clean(t, collect(t, wb, from))
	f, err := wb.Files.OpenFile(ctx, op.FileRef{ID: "wb1", Section: "outputs", Path: "a"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, map[string]string{partsDir + "/" + partName("a", f.Card().DigestURI): "wrong"})
	clean(t, materialize(t, wb, to, Options{}))
	if got := read(t, to); len(got) != 1 || got["a"] != "the right bytes" {
		t.Errorf("%q", got)
	}
}

// lying gives other bytes than it announces.
type lying struct{ op.Files }

func (l lying) OpenFile(ctx context.Context, ref op.FileRef) (op.File, error) {
	f, err := l.Files.OpenFile(ctx, ref)
	return lyingFile{f}, err
}

type lyingFile struct{ op.File }

func (f lyingFile) WriteRange(_ context.Context, w io.Writer, _, n int64) error {
	_, err := w.Write(bytes.Repeat([]byte("x"), int(n)))
	return err
}

func TestWrongBytesGetNoName(t *testing.T) {
	wb := one(t)
	from, to := t.TempDir(), t.TempDir()
	write(t, from, map[string]string{"a": "right"})
	clean(t, collect(t, wb, from))
	r := materialize(t, Workbench{wb.List, lying{wb.Files}}, to, Options{})
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Text, "digest") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Lstat(filepath.Join(to, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// Invariant 1.
func TestLinksAreNotFollowedInto(t *testing.T) {
	wb := one(t)
	from, to, outside := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, from, map[string]string{"dir/a": "1", "link": "2", "inner": "3", "fine": "4", "fifo": "5", "was-dir": "6"})
	clean(t, collect(t, wb, from))
	write(t, outside, map[string]string{"victim": "mine"})
	write(t, to, map[string]string{"was-dir/x": "y", "target": "inside"})
	for name, target := range map[string]string{"dir": outside, "link": filepath.Join(outside, "victim"), "inner": "target"} {
		if err := os.Symlink(target, filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(to, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := materialize(t, wb, to, Options{Delete: true})
	var names []string
	for _, p := range r.Problems {
		names = append(names, p.Path)
		if !strings.Contains(p.Text, "symbolic link") && !strings.Contains(p.Text, "special file") && !strings.Contains(p.Text, "a directory") {
			t.Errorf("%s: %s", p.Path, p.Text)
		}
	}
	if !slices.Equal(names, []string{"dir/a", "fifo", "inner", "link", "was-dir"}) {
		t.Errorf("problems with %q", names)
	}
	if got := read(t, outside); len(got) != 1 || got["victim"] != "mine" {
		t.Errorf("outside: %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(to, "fine")); err != nil || string(data) != "4" {
		t.Errorf("what is fine: %q %v", data, err)
	}
}

// A link that comes between the look and the opening does not lead anywhere either.
func TestALinkAtTheLastMoment(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"victim": "mine"})
	write(t, dir, map[string]string{"target": "inside"})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, target := range map[string]string{"out": filepath.Join(outside, "victim"), "in": "target", "new": filepath.Join(outside, "new")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if f, err := (tree{root}).open(name, os.O_RDWR|os.O_CREATE); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
	if got := read(t, outside); len(got) != 1 || got["victim"] != "mine" {
		t.Errorf("outside: %q", got)
	}
}

func TestLinksAreNotCollected(t *testing.T) {
	wb := one(t)
	from, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"secret": "mine"})
	write(t, from, map[string]string{"fine": "1", "bad\xffname": "2"})
	for name, target := range map[string]string{"file": filepath.Join(outside, "secret"), "dir": outside, "dangling": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(from, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := collect(t, wb, from)
	var names []string
	for _, p := range r.Problems {
		names = append(names, p.Path)
	}
	if !slices.Equal(names, []string{"bad�name", "dangling", "dir", "fifo", "file"}) || r.Moved != 1 {
		t.Errorf("%+v", r)
	}
}

// Invariant 4.
func TestSomebodyElsesFileStays(t *testing.T) {
	wb := one(t)
	from := t.TempDir()
	write(t, from, map[string]string{"a": "mine"})
	clean(t, collect(t, wb, from))
	write(t, from, map[string]string{"a": "mine, newer"})
	meddling := &meddler{Files: wb.Files}
	r := collect(t, Workbench{wb.List, meddling}, from)
	if len(r.Problems) != 1 || r.Problems[0].Path != "a" {
		t.Errorf("%+v", r)
	}
	f, err := wb.Files.OpenFile(ctx, op.FileRef{ID: "wb1", Section: "outputs", Path: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if f.Card().SizeBytes != int64(len("theirs")) || f.Card().Generation != 2 {
		t.Errorf("theirs became %+v", f.Card())
	}
}

// meddler writes a file just before the caller does.
type meddler struct{ op.Files }

func (m *meddler) StoreFile(ctx context.Context, ref op.FileRef, cond op.FileCondition, contentType string, body io.Reader, size int64) (op.FileCard, error) {
	if _, err := m.Files.StoreFile(ctx, ref, cond, contentType, strings.NewReader("theirs"), 6); err != nil {
		return op.FileCard{}, err
	}
	return m.Files.StoreFile(ctx, ref, cond, contentType, body, size)
}

// forgetful stores, and loses the answer; and fails at first when asked for anything.
type forgetful struct {
	op.Files
	failures atomic.Int32
}

func (f *forgetful) OpenFile(ctx context.Context, ref op.FileRef) (op.File, error) {
	if f.failures.Add(1)%2 == 1 {
		return nil, fault.New(op.ReasonUnavailable, "")
	}
	return f.Files.OpenFile(ctx, ref)
}

func (f *forgetful) StoreFile(ctx context.Context, ref op.FileRef, cond op.FileCondition, contentType string, body io.Reader, size int64) (op.FileCard, error) {
	if _, err := f.Files.StoreFile(ctx, ref, cond, contentType, body, size); err != nil {
		return op.FileCard{}, err
	}
	return op.FileCard{}, fault.New(op.ReasonUnavailable, "")
}

func TestALostAnswerIsFoundAgain(t *testing.T) {
	wb := one(t)
	from := t.TempDir()
	write(t, from, map[string]string{"a": "one"})
	r := collect(t, Workbench{wb.List, &forgetful{Files: wb.Files}}, from)
	clean(t, r)
	if r.Files != 1 || r.Moved != 1 {
		t.Errorf("%+v", r)
	}
	f, err := wb.Files.OpenFile(ctx, op.FileRef{ID: "wb1", Section: "outputs", Path: "a"})
	if err != nil || f.Card().Generation != 1 {
		t.Errorf("stored more than once: %v", err)
	}
}

// Invariant 5: what a directory cannot have is named, and the rest comes.
func TestWhatADirectoryCannotHave(t *testing.T) {
	wb := one(t)
	store := func(path, data string) {
		t.Helper()
		_, err := wb.Files.StoreFile(ctx, op.FileRef{ID: "wb1", Section: "outputs", Path: path}, op.FileCondition{}, "", strings.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("n", 300)
	store("both", "a file")
	store("both/below", "hidden")
	store(long, "too long")
	store("fine", "1")
	to := t.TempDir()
	write(t, to, map[string]string{"kept": "k", "sub/kept": "k"})
	r := materialize(t, wb, to, Options{})
	if len(r.Problems) != 2 || r.Problems[0].Path != "both/" || r.Problems[1].Path != long {
		t.Errorf("%+v", r.Problems)
	}
	got := read(t, to)
	if got["both"] != "a file" || got["fine"] != "1" || got["kept"] != "k" {
		t.Errorf("%q", got)
	}
	r = materialize(t, wb, to, Options{Delete: true})
	if !slices.Equal(r.Removed, []string{"kept", "sub/kept"}) {
		t.Errorf("removed %q", r.Removed)
	}
}

func TestContentTypes(t *testing.T) {
	for name, want := range map[string]string{"a.JSON": "application/json", "b.md": "text/markdown; charset=utf-8", "c": "text/plain; charset=utf-8", "d": "application/octet-stream"} {
		head := []byte("some words\n")
		if name == "d" {
			head = []byte{0, 1, 2, 3}
		}
		if got := contentType(name, head); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
