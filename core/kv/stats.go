package kv

import "sync/atomic"

type counters struct {
	updates, refusals, views, bytes    atomic.Uint64
	reaped, compactions, noSpace       atomic.Uint64
	backgroundErrors, slowDisk, stalls atomic.Uint64
}

// Stats is what a store counted since it was opened, and what it is now.
type Stats struct {
	// Updates wrote something; UpdatesWithoutWrite were refused by their closure
	// or changed nothing; UpdatesTurnedAway found too many waiting, and
	// UpdatesNoSpace too little disk.
	Updates, UpdatesWithoutWrite, UpdatesTurnedAway, UpdatesNoSpace uint64
	// Waiting is how many wait for their turn now.
	Waiting int
	Views   uint64
	// BatchBytes went into the write-ahead log.
	BatchBytes uint64
	// Reaped counts dropped versions, ReapCompactions what followed.
	Reaped, ReapCompactions uint64
	// BackgroundErrors were tried again; SlowDisk and WriteStalls are events.
	BackgroundErrors, SlowDisk, WriteStalls uint64
	// LowSpace says that updates are refused because the disk is nearly full.
	LowSpace bool
	// DiskBytes is what the store's files take.
	DiskBytes uint64
	// Roots is how many roots there are; Holds counts their holds.
	Roots, Holds int
	// CacheHits and CacheMisses are those of the block cache.
	CacheHits, CacheMisses int64
	// MemTableBytes is held by recent writes; ReadAmp is how many places a read
	// may have to look at.
	MemTableBytes uint64
	ReadAmp       int
}

// Stats returns the store's figures. It takes a few microseconds and blocks
// nobody; a closed store has zeros for what its files would say.
func (s *Store) Stats() Stats {
	st := Stats{
		Updates: s.counters.updates.Load(), UpdatesWithoutWrite: s.counters.refusals.Load(),
		UpdatesNoSpace: s.counters.noSpace.Load(), Views: s.counters.views.Load(),
		BatchBytes: s.counters.bytes.Load(), Reaped: s.counters.reaped.Load(),
		ReapCompactions: s.counters.compactions.Load(), BackgroundErrors: s.counters.backgroundErrors.Load(),
		SlowDisk: s.counters.slowDisk.Load(), WriteStalls: s.counters.stalls.Load(),
		LowSpace: s.LowSpace(),
	}
	st.Waiting, st.UpdatesTurnedAway = s.seq.waiting()
	roots, _ := s.Roots()
	st.Roots = len(roots)
	for _, r := range roots {
		r.state.holdMu.RLock()
		st.Holds += len(r.state.holds.byID)
		r.state.holdMu.RUnlock()
	}
	if s.enter() != nil {
		return st
	}
	defer s.leave()
	m := s.db.Metrics()
	st.DiskBytes = m.DiskSpaceUsage()
	st.CacheHits, st.CacheMisses = m.BlockCache.Hits, m.BlockCache.Misses
	st.MemTableBytes = m.MemTable.Size
	st.ReadAmp = m.ReadAmp()
	return st
}
