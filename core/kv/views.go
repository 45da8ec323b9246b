package kv

import (
	"sync"
	"sync/atomic"
)

// viewEpochs knows whether the Views that were open at some moment have ended,
// at the cost of two atomic additions for each View.
//
// Views count themselves under the epoch in which they begin. Only two epochs
// are ever in use, and share the two counters: the epoch moves on when nobody of
// the one before is left.
type viewEpochs struct {
	current atomic.Uint64
	open    [2]atomic.Int64
	moving  sync.Mutex
}

// enter counts a View, and returns the epoch to leave.
func (v *viewEpochs) enter() uint64 {
	for {
		e := v.current.Load()
		v.open[e&1].Add(1)
		if v.current.Load() == e {
			return e
		}
		// The epoch moved on in between, and may have counted without this one.
		v.open[e&1].Add(-1)
	}
}

func (v *viewEpochs) leave(e uint64) { v.open[e&1].Add(-1) }

// ended reports whether every View that had entered when current was mark has
// left.
func (v *viewEpochs) ended(mark uint64) bool {
	v.moving.Lock()
	defer v.moving.Unlock()
	if e := v.current.Load(); e <= mark+1 && v.open[(e+1)&1].Load() == 0 {
		v.current.Store(e + 1)
	}
	switch e := v.current.Load(); {
	case e > mark+1:
		return true
	case e == mark+1:
		return v.open[mark&1].Load() == 0
	default:
		return false
	}
}

// ViewMark returns a mark of this moment, for ViewsEnded.
func (s *Store) ViewMark(root Root) uint64 { return root.state.views.current.Load() }

// ViewsEnded reports whether every View of the root that was open at a mark has
// ended. Once it is true it stays true.
func (s *Store) ViewsEnded(root Root, mark uint64) bool { return root.state.views.ended(mark) }
