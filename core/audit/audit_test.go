package audit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/audit"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

var (
	ctx = context.Background()
	who = actor.Principal{Tenant: [16]byte{7}, User: "1"}
)

func newEnv(t testing.TB) *kvtest.Env {
	e := kvtest.New(t)
	audit.RegisterCheck(e.Store)
	return e
}

func change(e *kvtest.Env, result error, targets ...string) error {
	return e.Update(ctx, e.Root("jobs", "r"), func(tx *kv.Tx) error {
		for _, target := range targets {
			c := audit.Change{Action: "jobs.submit", Target: target, Detail: []byte(`{"n":1}`)}
			if err := audit.Append(tx, who, c); err != nil {
				return err
			}
		}
		return result
	})
}

func read(t *testing.T, e *kvtest.Env, from kv.Revision) (got []string) {
	t.Helper()
	root := e.Root("jobs", "r")
	err := e.View(ctx, root, func(v *kv.View) error {
		return audit.Read(v, root, from, func(r audit.Entry) error {
			got = append(got, fmt.Sprintf("%d.%d %s %x %s %s %s %s", r.Revision, r.Number, r.At.Format(time.TimeOnly), r.Tenant[:1], r.User, r.Action, r.Target, r.Detail))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// AUD-1 and AUD-2.
func TestRecordsAreThoseOfTheChanges(t *testing.T) {
	e := newEnv(t)
	if err := change(e, nil, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if err := change(e, errors.New("refused"), "never"); err == nil {
		t.Fatal("the update succeeded")
	}
	e.Clock.Advance(time.Second)
	if err := change(e, nil, "c"); err != nil {
		t.Fatal(err)
	}
	e.Crash(3)
	audit.RegisterCheck(e.Store)
	want := []string{
		`1.0 03:04:05 07 1 jobs.submit a {"n":1}`,
		`1.1 03:04:05 07 1 jobs.submit b {"n":1}`,
		`2.0 03:04:06 07 1 jobs.submit c {"n":1}`,
	}
	if got := read(t, e, 0); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := read(t, e, 2); len(got) != 1 || got[0] != want[2] {
		t.Errorf("from revision 2: %v", got)
	}
}

func TestReadStopsWhereItsCallerDoes(t *testing.T) {
	e := newEnv(t)
	if err := change(e, nil, "a", "b", "c"); err != nil {
		t.Fatal(err)
	}
	stop, n := errors.New("enough"), 0
	root := e.Root("jobs", "r")
	err := e.View(ctx, root, func(v *kv.View) error {
		return audit.Read(v, root, 0, func(audit.Entry) error {
			if n++; n == 2 {
				return stop
			}
			return nil
		})
	})
	if !errors.Is(err, stop) || n != 2 {
		t.Errorf("stopped after %d with %v", n, err)
	}
}

// A record under another revision than its own is what a forged one looks like.
func TestCheckFindsForgedRecords(t *testing.T) {
	e := newEnv(t)
	if err := change(e, nil, "a"); err != nil {
		t.Fatal(err)
	}
	root := e.Root("jobs", "r")
	put := func(revision uint64, number uint32, deleted bool) {
		t.Helper()
		err := e.Update(ctx, root, func(tx *kv.Tx) error {
			key := keys.AppendAudit(nil, root.ID(), revision, number)
			if deleted {
				tx.Delete(key)
				return nil
			}
			tx.Put(key, record.AppendAudit(nil, record.Audit{Action: "x"}))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, forged := range []struct {
		revision uint64
		number   uint32
	}{{1, 1}, {9, 0}, {1, 7}} {
		put(forged.revision, forged.number, false)
		if e.Check(ctx).Err() == nil {
			t.Errorf("record %+v is not found", forged)
		}
		put(forged.revision, forged.number, true)
	}
}

func BenchmarkAppend(b *testing.B) {
	e := newEnv(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := change(e, nil, "target"); err != nil {
			b.Fatal(err)
		}
	}
}
