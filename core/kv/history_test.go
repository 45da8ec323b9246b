package kv_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Commands on a state; each file under testdata/history is one story.
//
//	update            lines: put K V | insert K V | delete K | hold | hold-at REV | release ID | get K | scan | fail
//	view [at=REV]     the rows at a revision, at the watermark without one
//	advance d=5m      moves the clock
//	reap              runs the reaper to its end
//	queues            what the queues list
//	crash, reopen
func TestHistory(t *testing.T) {
	datadriven.Walk(t, "testdata/history", func(t *testing.T, path string) {
		e := kvtest.New(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return historyCommand(t, e, d)
		})
	})
}

func historyCommand(t *testing.T, e *kvtest.Env, d *datadriven.TestData) string {
	root := e.Root("test", "a")
	switch d.Cmd {
	case "update":
		var out strings.Builder
		var rev kv.Revision
		err := e.Update(ctx, root, func(tx *kv.Tx) error {
			out.Reset()
			rev = tx.Revision()
			for _, line := range strings.Split(d.Input, "\n") {
				if err := historyStep(tx, root, &out, strings.Fields(line)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return out.String() + "error: " + err.Error()
		}
		return out.String() + fmt.Sprintf("revision %d", rev)
	case "view":
		if !d.HasArg("at") {
			out := ""
			err := e.View(ctx, root, func(v *kv.View) (err error) {
				rows, err := scanAll(v, root)
				out = fmt.Sprintf("at %d: %s", v.Revision(), rows)
				return err
			})
			if err != nil {
				return "error: " + err.Error()
			}
			return out
		}
		var at uint64
		d.ScanArgs(t, "at", &at)
		out, err := tryDump(e.Store, root, kv.Revision(at))
		if err != nil {
			return "error: " + err.Error()
		}
		return fmt.Sprintf("at %d: %s", at, out)
	case "advance":
		var by string
		d.ScanArgs(t, "d", &by)
		dur, err := time.ParseDuration(by)
		if err != nil {
			t.Fatal(err)
		}
		e.Clock.Advance(dur)
		return ""
	case "reap":
		r, err := e.Reap(ctx)
		if err != nil {
			return "error: " + err.Error()
		}
		return fmt.Sprintf("dropped %d, kept %d", r.Dropped, r.Kept)
	case "queues":
		return listQueues(t, e, root)
	case "reopen":
		e.Reopen()
		return ""
	case "crash":
		e.Crash(1)
		return ""
	}
	t.Fatalf("unknown command %q", d.Cmd)
	return ""
}

func historyStep(tx *kv.Tx, root kv.Root, out *strings.Builder, f []string) error {
	switch f[0] {
	case "put":
		tx.Put(rowKey(root, f[1]), []byte(f[2]))
	case "insert":
		tx.Insert(rowKey(root, f[1]), []byte(f[2]))
	case "delete":
		tx.Delete(rowKey(root, f[1]))
	case "hold":
		id, err := tx.Hold(1, nil)
		fmt.Fprintf(out, "hold %d\n", id)
		return err
	case "hold-at":
		rev, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			return err
		}
		id, err := tx.HoldAt(kv.Revision(rev), 1, nil)
		if err == nil {
			fmt.Fprintf(out, "hold %d\n", id)
		}
		return err
	case "release":
		id, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			return err
		}
		return tx.Release(kv.HoldID(id))
	case "get":
		got, ok, err := tx.Get(rowKey(root, f[1]))
		fmt.Fprintf(out, "%s: %s@%d %v\n", f[1], got.Bytes, got.Rev, ok)
		return err
	case "scan":
		rows, err := scanAll(tx, root)
		fmt.Fprintf(out, "%s\n", rows)
		return err
	case "fail":
		return errors.New("failed")
	}
	return nil
}

func listQueues(t *testing.T, e *kvtest.Env, root kv.Root) string {
	var out strings.Builder
	e.RegisterCheck("queues", func(_ context.Context, c *kv.CheckView) []kv.Problem {
		for _, space := range []byte{keys.SpaceReapQueue, keys.SpaceHoldQueue} {
			it := c.Housekeeping(keys.SpaceBounds(space, root.ID()))
			for it.Next() {
				listQueueRow(t, &out, it)
			}
			if err := it.Close(); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	defer e.RegisterCheck("queues", func(context.Context, *kv.CheckView) []kv.Problem { return nil })
	if err := e.Check(ctx).Err(); err != nil {
		return "error: " + err.Error()
	}
	return out.String()
}

func listQueueRow(t *testing.T, out *strings.Builder, it *kv.Iter) {
	row, err := record.DecodeVictim(it.Value().Bytes)
	if err != nil {
		t.Fatal(err)
	}
	_, victim, err := keys.CutReap(it.Key())
	if err != nil {
		var hold uint64
		if _, hold, victim, err = keys.CutHoldReap(it.Key()); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "hold %d: ", hold)
	}
	name, _, err := keys.CutText(nil, row.Key[keys.PrefixLen:])
	if err != nil {
		t.Fatal(err)
	}
	if row.Revision == victim.Revision {
		fmt.Fprintf(out, "deletion of %s at %d\n", name, row.Revision)
		return
	}
	fmt.Fprintf(out, "%s@%d superseded by %d\n", name, row.Revision, victim.Revision)
}
