package kv

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// tabled reports whether everything up to a revision of a root lies in tables. A
// View at such a revision leaves out what is still in memory: all of it is newer,
// and nothing there says so but each key by itself, while tables and their blocks
// know their revisions and are passed over as a whole.
//
// Pebble moves updates from memory to tables in the order in which it got them,
// each as a whole, and every update writes the root's head: the head among the
// tables is the revision up to which they are complete.
func (s *Store) tabled(st *rootState, rev Revision) (bool, error) {
	if uint64(rev) <= st.tabled.Load() {
		return true, nil
	}
	it, err := s.db.NewIter(&pebble.IterOptions{OnlyReadGuaranteedDurable: true})
	if err != nil {
		return false, err
	}
	defer it.Close()
	if !it.SeekPrefixGE(appendBare(nil, keys.AppendRootHead(nil, st.id))) {
		return false, it.Error()
	}
	stored, err := it.ValueAndErr()
	if err != nil {
		return false, err
	}
	head, err := record.DecodeRootHead(stored)
	if err != nil {
		return false, err
	}
	for {
		known := st.tabled.Load()
		if head.Revision <= known || st.tabled.CompareAndSwap(known, head.Revision) {
			return uint64(rev) <= head.Revision, nil
		}
	}
}
