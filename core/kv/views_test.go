package kv

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// While Views come and go, whoever was inside at a mark has left when it is said
// that the Views have ended.
func TestViewEpochsUnderLoad(t *testing.T) {
	var epochs viewEpochs
	const workers = 8
	// visit is odd while the worker is inside.
	var visit [workers]atomic.Uint64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for !stop.Load() {
				e := epochs.enter()
				visit[i].Add(1)
				for range rng.IntN(200) {
					_ = stop.Load()
				}
				visit[i].Add(1)
				epochs.leave(e)
			}
		})
	}
	for range 2000 {
		var inside [workers]uint64
		for i := range visit {
			inside[i] = visit[i].Load()
		}
		mark := epochs.current.Load()
		for !epochs.ended(mark) {
		}
		for i, was := range inside {
			if was%2 == 1 && visit[i].Load() == was {
				t.Errorf("worker %d is still in its visit %d", i, was)
			}
		}
	}
	stop.Store(true)
	wg.Wait()
}
