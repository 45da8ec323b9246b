package workbench

import (
	"container/list"
	"sync"

	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// searchCacheBytes bounds what is kept of all searches that may go on.
const searchCacheBytes = 16 << 20

// searchKey names a search at a revision, at which its matches never change.
type searchKey struct {
	root     uint32
	revision kv.Revision
	query    [32]byte
}

// searchCache keeps what searches have found that may go on, the latest of them.
type searchCache struct {
	mu    sync.Mutex
	byKey map[searchKey]*list.Element
	order list.List // of cachedSearch, the latest first
	bytes int
}

type cachedSearch struct {
	key  searchKey
	f    *found
	size int
}

// get returns nil for a search of which nothing is kept.
func (c *searchCache) get(k searchKey) *found {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedSearch).f
}

func (c *searchCache) put(k searchKey, f *found) {
	size := f.size()
	if size > searchCacheBytes/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[k]; e != nil {
		if e.Value.(*cachedSearch).f == f {
			return
		}
		c.drop(e)
	}
	if c.byKey == nil {
		c.byKey = make(map[searchKey]*list.Element)
	}
	c.byKey[k] = c.order.PushFront(&cachedSearch{k, f, size})
	for c.bytes += size; c.bytes > searchCacheBytes; {
		c.drop(c.order.Back())
	}
}

func (c *searchCache) drop(e *list.Element) {
	s := c.order.Remove(e).(*cachedSearch)
	delete(c.byKey, s.key)
	c.bytes -= s.size
}
