package blob

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

const large = MemoryLimit + 2*ChunkSize + 1

// BLOB-5, BLOB-7: a body stays as long as a version has it, and then goes
// without a trace.
func TestBodyGoesWithItsLastVersion(t *testing.T) {
	e := newEnv(t)
	e.put("a", pattern(1, large))
	e.append("a", pattern(2, 9000))
	e.copy("a", "b")
	e.drop("a")
	e.collect()
	if len(e.files()) != 1 {
		t.Error("within the history window a file is gone")
	}
	e.expire()
	e.expect("b", append(pattern(1, large), pattern(2, 9000)...))
	if n := e.rows(keys.SpaceBodyRef); n != 1 {
		t.Errorf("%d references, want that of b", n)
	}
	e.put("b", []byte("small"))
	e.expire()
	e.expectNothing()
}

func TestHoldKeepsABody(t *testing.T) {
	e := newEnv(t)
	data := pattern(1, large)
	e.put("a", data)
	var hold kv.HoldID
	var rev kv.Revision
	e.update(func(tx *kv.Tx) (err error) {
		rev = tx.Revision()
		hold, err = tx.Hold(1, nil)
		return err
	})
	e.drop("a")
	e.expire()
	var body *Body
	err := e.ViewAt(ctx, e.root, rev, func(v *kv.View) error {
		rec, err := get(v, e.root, "a")
		if err == nil {
			body = e.blobs.Open(v, rec)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := body.ReadAll(ctx); err != nil || !bytes.Equal(got, data) {
		t.Errorf("held: %d bytes, %v", len(got), err)
	}
	body.Close()
	e.update(func(tx *kv.Tx) error { return tx.Release(hold) })
	e.expire()
	e.expectNothing()
}

// BLOB-7: an open body reads to its end although its row is gone.
func TestOpenBodyOutlivesItsRow(t *testing.T) {
	for what, size := range map[string]int{"rows": MemoryLimit, "file": large} {
		t.Run(what, func(t *testing.T) {
			e := newEnv(t)
			data := pattern(1, size)
			e.put("a", data)
			body := e.openBody("a")
			e.drop("a")
			if !e.expire() {
				t.Error("the collector is not blocked by the open body")
			}
			if got, err := body.ReadAll(ctx); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			body.Close()
			if e.collect() {
				t.Error("blocked after Close")
			}
			e.expectNothing()
		})
	}
}

// BLOB-7: a View from before the drop may still open the body.
func TestOlderViewKeepsABody(t *testing.T) {
	e := newEnv(t)
	data := pattern(1, large)
	e.put("a", data)
	var body *Body
	err := e.View(ctx, e.root, func(v *kv.View) error {
		rec, err := get(v, e.root, "a")
		if err != nil {
			return err
		}
		e.drop("a")
		if !e.expire() {
			t.Error("the collector is not blocked by the View")
		}
		body = e.blobs.Open(v, rec)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !e.collect() {
		t.Error("the collector is not blocked by what the View opened")
	}
	if got, err := body.ReadAll(ctx); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	body.Close()
	e.collect()
	e.expectNothing()
}

// Two drops of one list, and a View between them: the mark of the first drop
// does not stand for the second.
func TestLaterDropIsMarkedAnew(t *testing.T) {
	e := newEnv(t)
	short, long := pattern(1, 10_000), pattern(2, 10_000)
	e.put("short", short)
	e.copy("short", "long")
	e.append("long", long)
	reader := e.openBody("long")
	e.drop("long")
	e.expire() // marks the list, blocked by reader
	err := e.View(ctx, e.root, func(v *kv.View) error {
		rec, err := get(v, e.root, "short")
		if err != nil {
			return err
		}
		e.drop("short")
		reader.Close()
		if !e.expire() {
			t.Error("the collector is not blocked by the later View")
		}
		body := e.blobs.Open(v, rec)
		defer body.Close()
		if got, err := body.ReadAll(ctx); err != nil || !bytes.Equal(got, short) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	e.collect()
	e.expectNothing()
}

// A list is cut back to its last reference, and goes on from there.
func TestLongListIsCutBack(t *testing.T) {
	e := newEnv(t)
	base := pattern(1, 10_000)
	e.put("kept", base)
	e.copy("kept", "grown")
	for i := range 10 {
		e.append("grown", pattern(i, 9000))
	}
	e.append("grown", pattern(5, large))
	e.drop("grown")
	e.expire()
	if n := e.rows(keys.SpaceBodyExtent); n != 1 || len(e.files()) != 0 {
		t.Errorf("%d extents and %d files are left of a body with one extent", n, len(e.files()))
	}
	e.expect("kept", base)
	more := pattern(2, 9000)
	e.append("kept", more)
	e.expect("kept", append(base, more...))
	if n := len(e.record("kept").Spans); n != 1 {
		t.Errorf("the list was cut back, yet an append forked it: %d lists", n)
	}
}

// A list is cut back in bounded steps; an append in between forks, and finds
// nothing of what is going away.
func TestLongTrim(t *testing.T) {
	e := newEnv(t)
	base := pattern(1, 5000)
	e.put("kept", base)
	e.copy("kept", "grown")
	for range 2*collectRows + 10 {
		e.append("grown", pattern(3, TailLimit+1))
	}
	e.drop("grown")
	e.expire()
	if n := e.rows(keys.SpaceBodyExtent); n != 1 {
		t.Errorf("%d extents are left", n)
	}
	e.expect("kept", base)
}

// BLOB-6: what a process that died had staged goes at the next start.
func TestUnpublishedUploadsGo(t *testing.T) {
	for what, restart := range map[string]func(e *env){
		"closed":  (*env).reopen,
		"crashed": func(e *env) { e.crash(5) },
	} {
		t.Run(what, func(t *testing.T) {
			e := newEnv(t)
			half := e.blobs.Create(ctx, e.root)
			if _, err := io.CopyN(half, zeros{}, large); err != nil {
				t.Fatal(err)
			}
			if _, err := e.blobs.Put(ctx, e.root, io.LimitReader(zeros{}, large)); err != nil {
				t.Fatal(err)
			}
			e.collect()
			if len(e.files()) != 2 {
				t.Fatal("the collector took the file of an upload that goes on")
			}
			restart(e)
			if n := e.rows(keys.SpaceStaging); n != 2 {
				t.Errorf("%d staging rows after the restart", n)
			}
			e.collect()
			e.expectNothing()
		})
	}
}

// An upload that rests for longer than the grace is given up, and its publication
// fails.
func TestRestingUploadIsGivenUp(t *testing.T) {
	e := newEnv(t)
	w := e.blobs.Create(ctx, e.root)
	defer w.Abort()
	for range 4 { // each rest is shorter than the grace
		if _, err := io.CopyN(w, zeros{}, large); err != nil {
			t.Fatal(err)
		}
		e.Clock.Advance(DefaultStagingGrace * 3 / 4)
		e.collect()
	}
	d, err := w.Seal()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	e.Clock.Advance(DefaultStagingGrace)
	e.collect()
	e.expectNothing()
	err = e.Update(ctx, e.root, func(tx *kv.Tx) error {
		_, err := e.blobs.Publish(tx, d)
		return err
	})
	if !errors.Is(err, ErrStagingGone) {
		t.Errorf("Publish: %v", err)
	}
}

// A file that nobody knows goes at the next start; a file that is not ours stays.
func TestOrphansGo(t *testing.T) {
	e := newEnv(t)
	e.put("a", pattern(1, large))
	dir := e.blobs.rootDir(e.root.ID())
	orphan, foreign := segmentName(keys.SegmentID{7}), "notes.txt"
	for _, name := range []string{orphan, foreign} {
		f, err := e.FS().Create(e.FS().PathJoin(dir, name), "blob")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Check(ctx).Err(); err != nil {
		t.Errorf("within the grace: %v", err)
	}
	e.Clock.Advance(DefaultStagingGrace + 1)
	if e.Check(ctx).Err() == nil {
		t.Error("the check does not find the orphan")
	}
	e.reopen()
	e.collect()
	if got := e.files(); len(got) != 2 || !slices.Contains(got, foreign) || slices.Contains(got, orphan) {
		t.Errorf("left: %v", got)
	}
	e.expect("a", pattern(1, large))
}

func TestFreezeKeepsFiles(t *testing.T) {
	e := newEnv(t)
	e.put("a", pattern(1, large))
	release := e.blobs.Freeze()
	e.drop("a")
	if !e.expire() || len(e.files()) != 1 || e.rows(keys.SpaceBodyExtent) != 1 {
		t.Error("collected while frozen")
	}
	e.put("b", pattern(2, large)) // uploads go on
	release()
	release()
	e.collect()
	if len(e.files()) != 1 {
		t.Errorf("%d files, want that of b", len(e.files()))
	}
}

// Rows without versions hold bodies by Refer and Forget.
func TestReferAndForget(t *testing.T) {
	e := newEnv(t)
	data := pattern(1, large)
	e.put("a", data)
	key := keys.AppendLease(nil, e.root.ID(), "operation 1")
	e.update(func(tx *kv.Tx) error {
		rec, err := get(tx, e.root, "a")
		if err != nil {
			return err
		}
		tx.Put(key, rowOf(rec))
		return e.blobs.Refer(tx, key, rec)
	})
	e.drop("a")
	e.expire()
	if err := e.Check(ctx).Err(); err != nil {
		t.Error(err)
	}
	// The body comes back by way of the row that kept it.
	e.update(func(tx *kv.Tx) error {
		row, _, err := tx.Get(key)
		if err != nil {
			return err
		}
		rec, err := bodyOf(row.Bytes)
		if err != nil {
			return err
		}
		tx.Put(rowKey(e.root, "b"), rowOf(rec))
		tx.Delete(key)
		return e.blobs.Forget(tx, key, rec)
	})
	e.expire()
	e.expect("b", data)
	e.drop("b")
	e.expire()
	e.expectNothing()
}

// The check finds references that are missing or too many.
func TestCheckFindsWrongReferences(t *testing.T) {
	for what, damage := range map[string]func(e *env){
		"missing": func(e *env) { e.changeFirst(keys.SpaceBodyRef, func([]byte) []byte { return nil }) },
		"too many": func(e *env) {
			e.update(func(tx *kv.Tx) error {
				rec, err := get(tx, e.root, "a")
				if err != nil {
					return err
				}
				return e.blobs.Refer(tx, []byte("nobody"), rec)
			})
		},
		"to no list": func(e *env) {
			e.update(func(tx *kv.Tx) error {
				tx.Put(keys.AppendBodyRef(nil, e.root.ID(), keys.BodyRef{List: keys.ListID{Revision: 99}, End: 5}), record.AppendBodyRef(nil, record.BodyRef{}))
				return nil
			})
		},
		"an extent that nobody has": func(e *env) {
			e.update(func(tx *kv.Tx) error {
				list := e.record("a").Spans[0]
				tx.Put(keys.AppendBodyExtent(nil, e.root.ID(), keys.ListID(list.List), uint64(list.End)+5),
					record.AppendExtent(nil, record.Extent{Length: 5, Data: []byte("extra"), Sum: 0x5e7c5c7f}))
				return nil
			})
		},
		"a list that nobody has": func(e *env) {
			e.update(func(tx *kv.Tx) error {
				tx.Put(keys.AppendBodyList(nil, e.root.ID(), keys.ListID{Revision: 98}), record.AppendList(nil, record.List{}))
				return nil
			})
		},
		"a segment without its extent": func(e *env) {
			e.update(func(tx *kv.Tx) error {
				tx.Put(keys.AppendSegment(nil, e.root.ID(), keys.SegmentID{5}), record.AppendSegment(nil, record.Segment{Length: 5, End: 5}))
				return nil
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			e := newEnv(t)
			e.put("a", pattern(1, 10_000))
			if err := e.Check(ctx).Err(); err != nil {
				t.Fatalf("before: %v", err)
			}
			damage(e)
			if e.Check(ctx).Err() == nil {
				t.Error("not found")
			}
			e.abandon()
		})
	}
}

// A collector that fails tries again less and less often, however many uploads fail and wake it: on a full disk it may be
// hours. When there is space again it does what it could not.
func TestAFailingCollectorBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var free atomic.Uint64
		free.Store(1 << 30)
		e := &env{Env: kvtest.New(t, func(o *kv.Options) {
			o.Clock, o.FS = clock.System(), kvtest.WithFreeSpace(o.FS, free.Load)
			o.FreeSpaceFloorBytes, o.BallastBytes = 100<<20, -1
		}), t: t}
		var err error
		if e.blobs, err = Open(e.Store, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
			t.Fatal(err)
		}
		defer e.blobs.Close()
		e.blobs.Govern(keys.SpacePathRecord, bodiesOf)
		e.root = e.Root("workbench", "r")
		w := e.blobs.Create(ctx, e.root)
		if _, err := w.Write(pattern(1, large)); err != nil {
			t.Fatal(err)
		}
		free.Store(0)
		time.Sleep(2 * time.Second)
		w.Abort()
		for range 10 * 60 { // ten minutes, two failing uploads a second
			for range 2 {
				time.Sleep(time.Second / 2)
				if err := tryPut(e.Store, e.blobs, e.root, "a", pattern(1, large)); !fault.Is(err, op.ReasonResourceExhausted) {
					t.Fatalf("an upload without space: %v", err)
				}
			}
		}
		synctest.Wait()
		if lines := strings.Count(log.String(), "\n"); lines == 0 || lines > 30 {
			t.Errorf("%d lines in ten minutes", lines)
		}
		if len(e.files()) != 1 {
			t.Errorf("files: %v", e.files())
		}
		free.Store(1 << 30)
		time.Sleep(lastRetry + time.Second)
		e.put("small", pattern(3, 10)) // has the disk looked at
		time.Sleep(lastRetry)
		synctest.Wait()
		if len(e.files()) != 0 || e.rows(keys.SpaceStaging)+e.rows(keys.SpaceLooseFile) != 0 {
			t.Errorf("left behind: %v", e.files())
		}
	})
}

// The background collects without being asked. The bubble's clock is the
// machine's.
func TestBackgroundCollects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &env{Env: kvtest.New(t, func(o *kv.Options) { o.Clock = clock.System() }), t: t}
		var err error
		if e.blobs, err = Open(e.Store, Options{}); err != nil {
			t.Fatal(err)
		}
		defer e.blobs.Close()
		e.blobs.Govern(keys.SpacePathRecord, bodiesOf)
		e.root = e.Root("workbench", "r")
		e.put("a", pattern(1, large))
		body := e.openBody("a")
		e.drop("a")
		time.Sleep(time.Hour)
		if _, err := e.Reap(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(e.files()) != 1 {
			t.Error("the file of an open body is gone")
		}
		body.Close()
		time.Sleep(2 * retryCollect)
		synctest.Wait()
		e.expectNothing()
	})
}
