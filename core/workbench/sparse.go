package workbench

import (
	"sync"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// A page is sparse when the scan met more than so many newer keys for each entry.
const sparseAbove = 4

// sparseBudgetBytes bounds the memory of the pages that are kept.
const sparseBudgetBytes = 8 << 20

// sparsePages keeps pages of listings at snapshots whose entries lie scattered
// among newer files, since finding them takes several times as long as a page
// does otherwise. What a snapshot shows stays the same, so a page that is kept
// never has to be brought up to date (WB-38); whether the snapshot may be read is
// decided before one is asked for.
type sparsePages struct {
	mu sync.Mutex
	// The pages are of two generations; one that is used joins the new one, and
	// the old one goes when the new one has grown to half of the budget.
	now, before map[sparseKey]*sparsePage
	bytes       int // of now
}

type sparseKey struct {
	root     uint32
	in       keys.Incarnation
	snapshot uint64
	dir      string // as stored, the section included
	after    string
	limit    int
}

type sparsePage struct {
	names string // of all entries, one after the other
	ends  []int32
	sizes []int64 // -1 for a directory
	more  bool
}

func (p *sparsePage) cost(k sparseKey) int {
	return 256 + len(k.dir) + len(k.after) + len(p.names) + 12*len(p.ends)
}

// show adds a kept page to the answer, and reports whether there was one and
// whether there are more entries after it.
func (s *sparsePages) show(k sparseKey, a *listAnswer) (more, ok bool) {
	s.mu.Lock()
	p, ok := s.now[k]
	if !ok {
		if p, ok = s.before[k]; ok {
			delete(s.before, k)
			s.add(k, p)
		}
	}
	s.mu.Unlock()
	if !ok {
		return false, false
	}
	at := int32(0)
	for i, end := range p.ends {
		size := &p.sizes[i]
		if *size < 0 {
			size = nil
		}
		a.add([]byte(p.names[at:end]), size)
		at = end
	}
	return p.more, true
}

// keep keeps a page, if the scan that gave it met passed newer keys and that was
// many.
func (s *sparsePages) keep(k sparseKey, a *listAnswer, passed int, more bool) {
	if passed <= sparseAbove*(len(a.Entries)+1) {
		return
	}
	p := &sparsePage{more: more, ends: make([]int32, len(a.Entries)), sizes: make([]int64, len(a.Entries))}
	var names []byte
	for i := range a.Entries {
		e := &a.Entries[i]
		names = append(names, e.Name...)
		p.ends[i], p.sizes[i] = int32(len(names)), -1
		if e.SizeBytes != nil {
			p.sizes[i] = *e.SizeBytes
		}
	}
	p.names = string(names)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.now[k]; !ok {
		delete(s.before, k)
		s.add(k, p)
	}
}

// add puts a page into the new generation. The lock is held.
func (s *sparsePages) add(k sparseKey, p *sparsePage) {
	cost := p.cost(k)
	if s.now == nil || s.bytes+cost > sparseBudgetBytes/2 {
		s.before, s.now, s.bytes = s.now, make(map[sparseKey]*sparsePage), 0
	}
	s.now[k] = p
	s.bytes += cost
}
