package workbench

import (
	"bytes"
	"context"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
)

// holdsOfCommits reads what is held for commits, by the holds' ids.
func (k *checker) holdsOfCommits(c *kv.CheckView) map[uint64]record.Hold {
	held := map[uint64]record.Hold{}
	it := c.Housekeeping(keys.SpaceBounds(keys.SpaceHolds, k.root))
	for it.Next() {
		_, id, err := keys.CutHold(it.Key())
		if err != nil {
			continue // what is wrong with it, core/kv says
		}
		if h, err := record.DecodeHold(it.Value().Bytes); err == nil && !h.Released && h.Kind == holdCommit {
			h.Owner, h.Prefix = bytes.Clone(h.Owner), bytes.Clone(h.Prefix)
			held[id] = h
		}
	}
	if err := it.Close(); err != nil {
		k.problem("WB-0", nil, "%v", err)
	}
	return held
}

// holds demands that a commit keeps the files that it froze, by a hold of its own
// (WB-18), and takes the hold out of held.
func (k *checker) holds(held map[uint64]record.Hold, key []byte, in keys.Incarnation, id keys.CommitIdentity, hold, frozen uint64) {
	h, ok := held[hold]
	delete(held, hold)
	switch {
	case !ok:
		k.problem("WB-18", key, "its files are not kept: hold %d is not there, or another commit's", hold)
	case h.Revision != frozen || !bytes.Equal(h.Owner, id[:]) || !bytes.Equal(h.Prefix, keys.AppendPathRecords(nil, k.root, in)):
		k.problem("WB-18", key, "hold %d is on revision %d and %x of %x, and the files were frozen at %d", hold, h.Revision, h.Prefix, h.Owner, frozen)
	}
}

// runCommits verifies what is stored of commits (WB-16 to WB-19).
func (k *checker) runCommits(ctx context.Context, view *kv.CheckView) {
	held := k.holdsOfCommits(view)
	commits := map[keys.Incarnation]map[keys.CommitIdentity]record.Commit{}
	k.scan(ctx, keys.SpaceCommit, func(key []byte, value kv.Value) {
		_, in, id, err := keys.CutCommit(key)
		if err != nil {
			k.problem("WB-16", key, "%v", err)
			return
		}
		c, err := record.DecodeCommit(value.Bytes)
		if err != nil {
			k.problem("WB-16", key, "%v", err)
			return
		}
		c.Envelope = record.Body{SHA256: c.Envelope.SHA256, Length: c.Envelope.Length}
		if commits[in] == nil {
			commits[in] = map[keys.CommitIdentity]record.Commit{}
		}
		commits[in][id] = c
		if restored := k.restoredCommit(in, id); (c.Parent == nil) != (c.Generation == 1 && !restored) {
			k.problem("WB-16", key, "generation %d does not fit what it replaced", c.Generation)
		}
		k.holds(held, key, in, id, c.Hold, c.Frozen)
		if c.Frozen > uint64(value.Rev) {
			k.problem("WB-18", key, "it froze revision %d, and was published by %d", c.Frozen, value.Rev)
		}
		if want := commitIdentity(k.ids[in], digestURI(c.Content), digestURI(c.Manifest)); want != id {
			k.problem("WB-16", key, "its identity does not follow from what it says")
		}
	})
	k.scan(ctx, keys.SpaceCommitHead, func(key []byte, value kv.Value) {
		_, in, err := keys.CutCommitHead(key)
		if err != nil {
			k.problem("WB-17", key, "%v", err)
			return
		}
		h, err := record.DecodeCommitHead(value.Bytes)
		if err != nil {
			k.problem("WB-17", key, "%v", err)
			return
		}
		c, ok := commits[in][h.Identity]
		if !ok || c.Generation != h.Generation {
			k.problem("WB-17", key, "the head names a commit that does not exist with generation %d", h.Generation)
			return
		}
		stored, ok, err := k.v.Get(keys.AppendPathRecord(nil, k.root, in, jail.RunManifest))
		if err != nil {
			k.problem("WB-0", key, "%v", err)
			return
		}
		var f record.File
		if ok {
			f, err = record.DecodeFile(stored.Bytes)
		}
		if !ok || err != nil || f.Body.SHA256 != c.Envelope.SHA256 || f.Body.Length != c.Envelope.Length || f.Generation != c.ManifestGeneration || f.ContentType != manifestType {
			k.problem("WB-17", key, "the run manifest is not that of the head")
		}
	})
	k.scan(ctx, keys.SpaceCommitOperation, func(key []byte, value kv.Value) {
		_, in, id, err := keys.CutCommitOperation(key)
		if err != nil {
			k.problem("WB-19", key, "%v", err)
			return
		}
		o, err := record.DecodeCommitOperation(value.Bytes)
		if err != nil {
			k.problem("WB-19", key, "%v", err)
			return
		}
		k.holds(held, key, in, id, o.Hold, o.Frozen)
		if _, ok := commits[in][id]; ok {
			k.problem("WB-19", key, "the commit is published, and still under way")
		}
		if k.ids[in] != o.Workbench {
			k.problem("WB-19", key, "it is a commit of %q in the incarnation of %q", o.Workbench, k.ids[in])
		}
	})
	for hold, h := range held {
		k.problem("WB-18", keys.AppendHold(nil, k.root, hold), "it keeps the files of commit %x, which is neither published nor under way", h.Owner)
	}
}
