package workbench

import (
	"bytes"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// runCrawls verifies the holds of crawls (WB-27).
func (k *checker) runCrawls(c *kv.CheckView) {
	rows := func(space byte, visit func(key []byte, value kv.Value)) {
		it := c.Housekeeping(keys.SpaceBounds(space, k.root))
		for it.Next() {
			visit(it.Key(), it.Value())
		}
		if err := it.Close(); err != nil {
			k.problem("WB-0", nil, "%v", err)
		}
	}
	holds, owners, armed := map[uint64]record.Hold{}, map[uint64]string{}, map[string]bool{}
	rows(keys.SpaceHolds, func(key []byte, value kv.Value) {
		h, err := record.DecodeHold(value.Bytes)
		if err != nil || h.Released || h.Kind != holdCrawl {
			return
		}
		if _, id, err := keys.CutHold(key); err == nil {
			h.Prefix, owners[id] = bytes.Clone(h.Prefix), string(h.Owner)
			holds[id] = h
		}
	})
	rows(keys.SpaceTimer, func(key []byte, _ kv.Value) {
		if _, kind, id, err := keys.CutTimer(key); err == nil && kind == timerCrawl {
			armed[id] = true
		}
	})
	n := int64(0)
	rows(keys.SpaceCrawlHold, func(key []byte, value kv.Value) {
		n++
		_, revision, within, err := keys.CutCrawlHold(key)
		if err != nil {
			k.problem("WB-27", key, "%v", err)
			return
		}
		row, err := record.DecodeCrawlHold(value.Bytes)
		if err != nil {
			k.problem("WB-27", key, "%v", err)
			return
		}
		h, ok := holds[row.Hold]
		if !ok || owners[row.Hold] != string(key) || h.Revision != revision || !bytes.Equal(h.Prefix, within) {
			k.problem("WB-27", key, "hold %d is not its own", row.Hold)
		}
		delete(holds, row.Hold)
		name := crawlTimer(revision, within)
		if !armed[name] {
			k.problem("WB-27", key, "no timer releases it")
		}
		delete(armed, name)
	})
	if n > op.LimitCrawlMaxHolds {
		k.problem("WB-27", nil, "there are %d crawl holds", n)
	}
	for id := range holds {
		k.problem("WB-27", []byte(owners[id]), "hold %d is no crawl's", id)
	}
	for name := range armed {
		k.problem("WB-27", nil, "timer %s releases nothing", name)
	}
}
