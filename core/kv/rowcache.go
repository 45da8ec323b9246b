package kv

import (
	"hash/maphash"
	"sync"
)

const (
	rowShards = 256
	// rowShardBytes bounds one shard: 24 MiB in all.
	rowShardBytes = 96 << 10
	// maxCachedRow is the largest row that is kept.
	maxCachedRow = 8 << 10
	// rowOverhead is what a row costs beside its bytes, about.
	rowOverhead = 96
)

// rowCache holds the newest version of rows that Views have read lately, so that
// a row that is asked for again costs no seek through the levels of the store.
//
// A row is in the cache only while it is the newest applied version of its key:
// every update takes the keys that it writes out before it is applied. A View
// puts in what it read only if every update that wrote to the key's shard was
// durable before the View took its revision; then it has seen them all, and what
// it read is the newest. A View takes out only what is not newer than itself.
type rowCache struct {
	seed   maphash.Seed
	shards [rowShards]rowShard
}

type rowShard struct {
	mu   sync.Mutex
	rows map[string]Value
	size int
	// changed is the number of the last update that wrote a key of this shard.
	changed uint64
}

func newRowCache() *rowCache { return &rowCache{seed: maphash.MakeSeed()} }

func (c *rowCache) shard(key []byte) *rowShard {
	return &c.shards[maphash.Bytes(c.seed, key)%rowShards]
}

// get returns the newest version of a key, if it is known and not newer than at.
// Its bytes are shared: copy them.
func (c *rowCache) get(key []byte, at Revision) (Value, bool) {
	s := c.shard(key)
	s.mu.Lock()
	v, ok := s.rows[string(key)]
	s.mu.Unlock()
	return v, ok && v.Rev <= at
}

// put keeps a row that a View has read. durable is the number up to which
// updates were durable before the View took its revision.
func (c *rowCache) put(key []byte, v Value, durable uint64) {
	if len(key)+len(v.Bytes) > maxCachedRow {
		return
	}
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed > durable {
		return
	}
	if _, ok := s.rows[string(key)]; ok {
		return
	}
	if s.rows == nil {
		s.rows = make(map[string]Value)
	}
	s.size += rowCost(len(key), v)
	for old, kept := range s.rows { // in no order, which is as good as any
		if s.size <= rowShardBytes {
			break
		}
		s.size -= rowCost(len(old), kept)
		delete(s.rows, old)
	}
	s.rows[string(key)] = Value{Bytes: append([]byte(nil), v.Bytes...), Rev: v.Rev}
}

// drop forgets a key that the update with this number is about to write.
func (c *rowCache) drop(key []byte, number uint64) {
	s := c.shard(key)
	s.mu.Lock()
	s.changed = number
	if v, ok := s.rows[string(key)]; ok {
		s.size -= rowCost(len(key), v)
		delete(s.rows, string(key))
	}
	s.mu.Unlock()
}

func rowCost(key int, v Value) int { return key + len(v.Bytes) + rowOverhead }
