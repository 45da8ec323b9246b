package kv

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// How a key lies in Pebble. Part of the store's format:
//
//	versioned      key 0x00 | revision, 8 bytes, big-endian | 0x09
//	housekeeping   key 0x00
//
// The last byte is the length of the suffix, itself included, so every key says
// by itself where it splits, whatever bytes it holds. Keys sort by their part
// before the zero byte, then by revision, the newest first; a bound without a
// suffix sorts before every version of the same key.
const (
	sentinel     = 0x00
	suffixLen    = 9
	versionedLen = 1 + suffixLen
)

// newest is above every revision: reading at it gives the newest version.
const newest = Revision(1<<64 - 1)

func appendVersioned(dst, key []byte, rev Revision) []byte {
	dst = append(append(dst, key...), sentinel)
	return append(binary.BigEndian.AppendUint64(dst, uint64(rev)), suffixLen)
}

func appendBare(dst, key []byte) []byte {
	return append(append(dst, key...), sentinel)
}

// splitPhysical takes a key from Pebble apart. A housekeeping key has revision
// 0. It never panics; ok is false for bytes that no writer of this package made.
func splitPhysical(physical []byte) (key []byte, rev Revision, ok bool) {
	n := len(physical)
	if n == 0 {
		return nil, 0, false
	}
	switch physical[n-1] {
	case sentinel:
		return physical[:n-1], 0, true
	case suffixLen:
		if n < versionedLen || physical[n-versionedLen] != sentinel {
			return nil, 0, false
		}
		rev = Revision(binary.BigEndian.Uint64(physical[n-suffixLen:]))
		return physical[:n-versionedLen], rev, rev != 0
	}
	return nil, 0, false
}

// A versioned value ends in live; a deletion is an empty value. Housekeeping
// values are stored as they are.
const live = 0x01

func splitValue(stored []byte) (value []byte, deleted bool, err error) {
	n := len(stored)
	if n == 0 {
		return nil, true, nil
	}
	if stored[n-1] != live {
		return nil, false, fmt.Errorf("kv: a stored value ends in 0x%02x", stored[n-1])
	}
	return stored[: n-1 : n-1], false, nil
}

// revisionProperty is the name of the block property that holds the revisions
// of a block, a table and an index. Part of the store's format.
const revisionProperty = "sawhorse.revisions"

// revisionMapper gives Pebble the revision of each key. A housekeeping key has
// none, so a block with nothing else is never read through the filter; only
// Views filter, and they cannot read housekeeping.
type revisionMapper struct{}

func (revisionMapper) MapPointKey(key pebble.InternalKey, _ []byte) (sstable.BlockInterval, error) {
	_, rev, ok := splitPhysical(key.UserKey)
	if !ok || rev == 0 {
		return sstable.BlockInterval{}, nil
	}
	return sstable.BlockInterval{Lower: uint64(rev), Upper: uint64(rev) + 1}, nil
}

func (revisionMapper) MapRangeKeys(sstable.Span) (sstable.BlockInterval, error) {
	return sstable.BlockInterval{}, nil
}

func newRevisionCollector() pebble.BlockPropertyCollector {
	return sstable.NewBlockIntervalCollector(revisionProperty, revisionMapper{}, nil)
}

// revisionFilter lets a read at rev skip blocks in which everything is newer.
// A deletion of a version lies under that version's own key and revision, so
// the filter never hides the deletion of something that it shows.
func revisionFilter(rev Revision) pebble.BlockPropertyFilter {
	return sstable.NewBlockIntervalFilter(revisionProperty, 0, uint64(rev)+1, nil)
}
