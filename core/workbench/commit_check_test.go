package workbench_test

import (
	"slices"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// WB-18: the check looks at the holds of commits, published or under way.
func TestCheckFindsBrokenHoldsOfCommits(t *testing.T) {
	prepare := func(w *workbench.Workbench) error {
		_, err := w.Commit(ctx, commitOf(`{"run":"A"}`, 1, false))
		return err
	}
	only := func(tx *kv.Tx) kv.Hold {
		for _, h := range tx.Holds() {
			if h.Kind == 2 {
				return h
			}
		}
		t.Fatal("no hold of a commit")
		return kv.Hold{}
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]func(tx *kv.Tx, root uint32, in keys.Incarnation){
		"a hold that is released": func(tx *kv.Tx, _ uint32, _ keys.Incarnation) { must(tx.Release(only(tx).ID)) },
		"a hold of no commit": func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			_, err := tx.HoldWithin(keys.AppendPathRecords(nil, root, in), 2, make([]byte, 32))
			must(err)
		},
		"a commit that names another hold": func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			id := keys.CommitIdentity(only(tx).Owner)
			value, _, err := tx.Get(keys.AppendCommit(nil, root, in, id))
			must(err)
			c, err := record.DecodeCommit(value.Bytes)
			must(err)
			c.Hold++
			tx.Put(keys.AppendCommit(nil, root, in, id), record.AppendCommit(nil, c))
		},
		"a hold on another revision": func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			h := only(tx)
			hold, err := tx.HoldWithin(keys.AppendPathRecords(nil, root, in), 2, h.Owner)
			must(err)
			must(tx.Release(h.ID))
			id := keys.CommitIdentity(h.Owner)
			value, _, err := tx.Get(keys.AppendCommit(nil, root, in, id))
			must(err)
			c, err := record.DecodeCommit(value.Bytes)
			must(err)
			c.Hold = uint64(hold)
			tx.Put(keys.AppendCommit(nil, root, in, id), record.AppendCommit(nil, c))
		},
		"a hold on more than the workbench": func(tx *kv.Tx, root uint32, in keys.Incarnation) {
			h := only(tx)
			hold, err := tx.Hold(2, h.Owner)
			must(err)
			must(tx.Release(h.ID))
			id := keys.CommitIdentity(h.Owner)
			value, _, err := tx.Get(keys.AppendCommit(nil, root, in, id))
			must(err)
			c, err := record.DecodeCommit(value.Bytes)
			must(err)
			c.Hold, c.Frozen = uint64(hold), uint64(tx.Revision())
			tx.Put(keys.AppendCommit(nil, root, in, id), record.AppendCommit(nil, c))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := damagedAfter(t, prepare, damage); !slices.Equal(got, []string{"WB-18"}) {
				t.Errorf("found %v", got)
			}
		})
	}
	under := func(w *workbench.Workbench) error {
		stopped := make(chan struct{})
		w.OnStep(func(step string) {
			if step == "staged" {
				close(stopped)
				select {} // it does not come any further
			}
		})
		go func() {
			_, _ = w.Commit(ctx, &op.WorkbenchCommitRequest{ID: "wb1", Manifest: op.RawJSON("{}"), ContentDigestURI: digestOf(1)})
		}()
		<-stopped
		return nil
	}
	got := damagedAfter(t, under, func(tx *kv.Tx, _ uint32, _ keys.Incarnation) { must(tx.Release(only(tx).ID)) })
	if !slices.Equal(got, []string{"WB-18"}) {
		t.Errorf("a commit under way without its hold: found %v", got)
	}
}
