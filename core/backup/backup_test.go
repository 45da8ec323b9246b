package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

var ctx = context.Background()

const dest = "backups"

// env is a store of files, as the Workbench keeps them.
type env struct {
	*kvtest.Env
	t      testing.TB
	bodies *blob.Store
	root   kv.Root
}

func newEnv(t testing.TB, changes ...func(*kv.Options)) *env {
	t.Helper()
	e := &env{Env: kvtest.New(t, changes...), t: t}
	e.open()
	return e
}

func (e *env) open() {
	e.t.Helper()
	var err error
	if e.bodies, err = openBodies(e.Store); err != nil {
		e.t.Fatal(err)
	}
	e.root = e.Root("workbench", "r")
}

func openBodies(s *kv.Store) (*blob.Store, error) {
	b, err := blob.Open(s, blob.Options{NoBackground: true})
	if err == nil {
		b.Govern(keys.SpacePathRecord, func(value []byte) ([]record.Body, error) {
			f, err := record.DecodeFile(value)
			return []record.Body{f.Body}, err
		})
	}
	return b, err
}

func fileKey(root kv.Root, name string) []byte {
	return keys.AppendPathRecord(nil, root.ID(), keys.Incarnation{}, name)
}

func (e *env) put(name string, data []byte) error {
	sealed, err := e.bodies.PutBytes(ctx, e.root, data)
	if err != nil {
		return err
	}
	defer sealed.Release()
	return e.Update(ctx, e.root, func(tx *kv.Tx) error {
		body, err := e.bodies.Publish(tx, sealed)
		if err != nil {
			return err
		}
		tx.Put(fileKey(e.root, name), record.AppendFile(nil, record.File{Generation: 1, Body: body}))
		return nil
	})
}

func (e *env) mustPut(name string, data []byte) {
	e.t.Helper()
	if err := e.put(name, data); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) write(o Options) Result {
	e.t.Helper()
	o.Dest = dest
	res, err := Write(ctx, e.Store, e.bodies, o)
	if err != nil {
		e.t.Fatal(err)
	}
	return res
}

// contents restores a backup into a new directory, opens and checks it, and
// returns the files in it.
func contents(t testing.TB, fs kv.FS, from, dir string) map[string]string {
	t.Helper()
	found, m, err := Find(fs, from)
	if err != nil {
		t.Fatal(err)
	}
	if err := Restore(ctx, fs, found, m, dir, nil, nil); err != nil {
		t.Fatal(err)
	}
	return read(t, fs, dir)
}

func read(t testing.TB, fs kv.FS, dir string) map[string]string {
	t.Helper()
	s, err := kv.Open(kv.Options{FS: fs, Dir: dir, NoBackground: true, CacheBytes: 4 << 20, MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	b, err := openBodies(s)
	if err != nil {
		t.Fatal(err)
	}
	var root kv.Root
	roots, names := s.Roots()
	for i, n := range names {
		if n.Name == "r" {
			root = roots[i]
		}
	}
	files := map[string]string{}
	err = s.View(ctx, root, func(v *kv.View) error {
		prefix := keys.AppendPathRecords(nil, root.ID(), keys.Incarnation{})
		it := v.Scan(prefix, keys.AppendEnd(nil, prefix), kv.ScanOptions{})
		for it.Next() {
			_, _, path, err := keys.CutPathRecord(it.Key())
			if err != nil {
				return err
			}
			f, err := record.DecodeFile(bytes.Clone(it.Value().Bytes))
			if err != nil {
				return err
			}
			body := b.Open(v, f.Body)
			data, err := body.ReadAll(ctx)
			body.Close()
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			files[path] = string(data)
		}
		return it.Close()
	})
	if err := errors.Join(err, s.Check(ctx).Err(), b.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return files
}

func large(seed byte, n int) []byte { return bytes.Repeat([]byte{seed, 'x', seed, 'y'}, n/4) }

// BAK-1, BAK-4: what was acknowledged is in a backup, with every byte.
func TestABackupBringsEverythingBack(t *testing.T) {
	e := newEnv(t)
	want := map[string]string{"small": "one", "empty": "", "rows": string(large(1, 100<<10)), "file": string(large(2, 1<<20))}
	for name, data := range want {
		e.mustPut(name, []byte(data))
	}
	res := e.write(Options{})
	if res.Bytes != res.CopiedBytes || res.Files == 0 {
		t.Errorf("a first backup: %+v", res)
	}
	e.mustPut("later", []byte("not in it"))
	if got := contents(t, e.FS(), dest, "restored"); !same(got, want) {
		t.Errorf("restored %d files, want %d", len(got), len(want))
	}
	if _, err := e.FS().Stat(e.FS().PathJoin(e.Dir(), workDir)); err == nil {
		t.Error("the work directory is left")
	}
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// A further backup takes what is new; each stays complete when another goes.
func TestAFurtherBackupTakesWhatIsNew(t *testing.T) {
	e := newEnv(t)
	e.mustPut("a", large(1, 4<<20))
	first := e.write(Options{})
	e.Clock.Advance(time.Second)
	e.mustPut("b", large(2, 1<<20))
	second := e.write(Options{})
	if second.CopiedBytes > 2<<20 || second.Bytes < 5<<20 {
		t.Errorf("the second backup copied %d of %d bytes", second.CopiedBytes, second.Bytes)
	}
	third := e.write(Options{Keep: 2})
	if third.Name <= second.Name || len(third.Removed) != 1 || third.Removed[0] != first.Name {
		t.Errorf("third %+v, after %s and %s", third, first.Name, second.Name)
	}
	want := map[string]string{"a": string(large(1, 4<<20)), "b": string(large(2, 1<<20))}
	for i, name := range []string{second.Name, third.Name} {
		if got := contents(t, e.FS(), e.FS().PathJoin(dest, name), fmt.Sprint("restored", i)); !same(got, want) {
			t.Errorf("%s holds %d files", name, len(got))
		}
	}
}

// BAK-3: while files are copied, updates go on; the backup shows one moment.
func TestABackupWhileFilesAreWritten(t *testing.T) {
	e := newEnv(t)
	const writers, each = 4, 40
	var wg sync.WaitGroup
	started := make(chan struct{}, writers)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				// Each writer's files follow each other, so a moment has a first part of them.
				if err := e.put(fmt.Sprintf("%d/%02d", w, i), large(byte(i), (i%3)*100<<10)); err != nil {
					t.Error(err)
				}
				if i == 4 {
					started <- struct{}{}
				}
			}
		})
	}
	for range writers {
		<-started
	}
	res := e.write(Options{Progress: func(done, total int64, _ string) {
		if done > total {
			t.Errorf("%d of %d bytes", done, total)
		}
	}})
	wg.Wait()
	got := contents(t, e.FS(), e.FS().PathJoin(dest, res.Name), "restored")
	for w := range writers {
		there := 0
		for there < each {
			if _, ok := got[fmt.Sprintf("%d/%02d", w, there)]; !ok {
				break
			}
			there++
		}
		if there < 5 {
			t.Errorf("writer %d: %d files, and 5 were acknowledged", w, there)
		}
		for i := there; i < each; i++ {
			if _, ok := got[fmt.Sprintf("%d/%02d", w, i)]; ok {
				t.Errorf("writer %d: file %d is there, and %d is not", w, i, there)
			}
		}
	}
}

// BAK-2: a power cut before any write of a backup leaves earlier backups as they
// were, a later one possible, and the store whole.
func TestABackupIsCutOff(t *testing.T) {
	want := map[string]string{"a": "one", "b": string(large(2, 300<<10))}
	for cut := 1; ; cut++ {
		crash := kvtest.NewCrashFS()
		var at kv.FS
		ops, armed := 0, false
		fs := kvtest.Intercept(crash, func(o kvtest.FileOp) error {
			if armed && o.Write {
				if ops++; ops == cut && at == nil {
					at = kvtest.CrashClone(crash, uint64(cut))
				}
			}
			return nil
		})
		e := newEnv(t, func(o *kv.Options) { o.FS = fs })
		for name, data := range want {
			e.mustPut(name, []byte(data))
		}
		e.write(Options{})
		e.mustPut("b", []byte("two"))
		armed = true
		e.write(Options{})
		armed = false
		if at == nil {
			if cut < 20 {
				t.Fatalf("a backup had only %d writes", cut)
			}
			return
		}
		old := map[string]string{"a": "one", "b": "two"}
		names, err := (&writer{fs: at, dest: dest}).finished()
		if err != nil || len(names) == 0 {
			t.Fatalf("cut %d: %v %v", cut, names, err)
		}
		if got := contents(t, at, at.PathJoin(dest, names[0]), "first"); !same(got, want) {
			t.Errorf("cut %d: the first backup holds %d files", cut, len(got))
		}
		if len(names) == 2 {
			if got := contents(t, at, at.PathJoin(dest, names[1]), "second"); !same(got, old) {
				t.Errorf("cut %d: the second backup holds %d files", cut, len(got))
			}
		}
		if got := read(t, at, e.Dir()); !same(got, old) {
			t.Errorf("cut %d: the store holds %d files", cut, len(got))
		}
	}
}

// BAK-4: a power cut before any write of a restore leaves a directory that does
// not open, or one with everything; and the restore can be run again.
func TestARestoreIsCutOff(t *testing.T) {
	want := map[string]string{"a": "one", "b": string(large(2, 300<<10))}
	for cut := 1; ; cut++ {
		crash := kvtest.NewCrashFS()
		var at kv.FS
		ops, armed := 0, false
		fs := kvtest.Intercept(crash, func(o kvtest.FileOp) error {
			if armed && o.Write {
				if ops++; ops == cut && at == nil {
					at = kvtest.CrashClone(crash, uint64(cut))
				}
			}
			return nil
		})
		e := newEnv(t, func(o *kv.Options) { o.FS = fs })
		for name, data := range want {
			e.mustPut(name, []byte(data))
		}
		e.write(Options{})
		from, m, err := Find(fs, dest)
		if err != nil {
			t.Fatal(err)
		}
		armed = true
		if err := Restore(ctx, fs, from, m, "restored", nil, nil); err != nil {
			t.Fatal(err)
		}
		armed = false
		if at == nil {
			if cut < 10 {
				t.Fatalf("a restore had only %d writes", cut)
			}
			return
		}
		if _, err := at.Stat("restored/kv"); err != nil {
			if _, err := at.Stat(at.PathJoin("restored", RestoringName)); err == nil {
				if _, err := kv.Open(kv.Options{FS: at, Dir: "restored", NoBackground: true}); !errors.Is(err, kv.ErrRestoring) {
					t.Errorf("cut %d: half a restore opens: %v", cut, err)
				}
			}
			if err := Restore(ctx, at, from, m, "restored", nil, nil); err != nil {
				t.Fatalf("cut %d: again: %v", cut, err)
			}
		}
		if got := read(t, at, "restored"); !same(got, want) {
			t.Errorf("cut %d: %d files", cut, len(got))
		}
	}
}

// RestoringName is kv's name for a directory in the making.
const RestoringName = kv.RestoringDir

// BAK-4: bytes that are not those of the manifest are refused, and leave no
// store.
func TestADamagedBackupIsRefused(t *testing.T) {
	for name, damage := range map[string]func(fs kv.FS, file string){
		"a flipped bit": func(fs kv.FS, file string) {
			data := slurp(t, fs, file)
			data[len(data)/2] ^= 1
			spill(t, fs, file, data)
		},
		"a file cut short": func(fs kv.FS, file string) {
			data := slurp(t, fs, file)
			spill(t, fs, file, data[:len(data)-1])
		},
		"a missing file": func(fs kv.FS, file string) {
			if err := fs.Remove(file); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.mustPut("a", large(1, 1<<20))
			e.write(Options{})
			from, m, err := Find(e.FS(), dest)
			if err != nil {
				t.Fatal(err)
			}
			damage(e.FS(), join(e.FS(), from, m.Files[0].Path))
			if err := Restore(ctx, e.FS(), from, m, "restored", nil, nil); !errors.Is(err, ErrDamaged) {
				t.Errorf("restore: %v", err)
			}
			if _, err := kv.Open(kv.Options{FS: e.FS(), Dir: "restored", NoBackground: true}); !errors.Is(err, kv.ErrRestoring) {
				t.Errorf("the directory opens: %v", err)
			}
		})
	}
}

// BAK-5
func TestWhatABackupRefuses(t *testing.T) {
	e := newEnv(t)
	e.mustPut("a", []byte("one"))
	for _, bad := range []string{e.Dir(), e.FS().PathJoin(e.Dir(), "backups")} {
		if _, err := Write(ctx, e.Store, e.bodies, Options{Dest: bad}); err == nil {
			t.Errorf("a backup into %s was taken", bad)
		}
	}
	e.write(Options{})
	from, m, err := Find(e.FS(), dest)
	if err != nil {
		t.Fatal(err)
	}
	if err := Restore(ctx, e.FS(), from, m, e.Dir(), nil, nil); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a restore over a store: %v", err)
	}
	stay := func(name string) bool { return name == "owner.lock" }
	spill(t, e.FS(), "fresh/owner.lock", nil)
	if err := Restore(ctx, e.FS(), from, m, "fresh", stay, nil); err != nil {
		t.Error(err)
	}
	spill(t, e.FS(), "other/notes.txt", nil)
	if err := Restore(ctx, e.FS(), from, m, "other", stay, nil); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a restore beside somebody's notes: %v", err)
	}
	if _, _, err := Find(e.FS(), "other"); !errors.Is(err, ErrManifest) {
		t.Errorf("a directory without backups: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Write(cancelled, e.Store, e.bodies, Options{Dest: dest}); !errors.Is(err, context.Canceled) && err == nil {
		t.Errorf("a backup that nobody wants any more: %v", err)
	}
}

func slurp(t testing.TB, fs kv.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

// spill writes a file anew: one with several names is not changed under them.
func spill(t testing.TB, fs kv.FS, name string, data []byte) {
	t.Helper()
	if err := fs.MkdirAll(fs.PathDir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(fs, name, data); err != nil {
		t.Fatal(err)
	}
}

func FuzzManifest(f *testing.F) {
	sum := strings.Repeat("ab", 32)
	f.Add([]byte(`{"format":1,"files":[{"path":"kv/000001.sst","size_bytes":1,"sha256":"` + sum + `"}]}`))
	f.Add([]byte(`{"format":1,"files":[{"path":"kv/../../etc/passwd","size_bytes":1,"sha256":"` + sum + `"}]}`))
	f.Add([]byte(`{"format":2}`))
	fs := kvtest.NewCrashFS()
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseManifest(text)
		if err != nil {
			if !errors.Is(err, ErrManifest) {
				t.Errorf("%v is not ErrManifest", err)
			}
			return
		}
		for _, file := range m.Files {
			at := join(fs, "/dir", file.Path)
			if !strings.HasPrefix(at, "/dir/kv/") && !strings.HasPrefix(at, "/dir/bodies/") || file.SizeBytes < 0 {
				t.Errorf("file %q of %d bytes", file.Path, file.SizeBytes)
			}
		}
	})
}
