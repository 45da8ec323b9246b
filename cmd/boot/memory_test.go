package boot

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
)

// Memory is given back when a server is quiet and has much to spare, and not while it works.
func TestMemoryIsGivenBackInQuietTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var heap heapState
		freed := 0
		go giveBack(ctx, fake, func() heapState { return heap }, func() { freed++; heap.spare = 1 << 20 })
		synctest.Wait()
		for _, step := range []struct {
			allocates, spare uint64
			freed            int
		}{
			{1 << 20, 10 << 20, 0},    // little to spare
			{500 << 20, 300 << 20, 0}, // at work
			{1 << 20, 300 << 20, 1},   // quiet after it
			{1 << 20, 1 << 20, 1},
			{40 << 20, 100 << 20, 1},
			{0, 100 << 20, 2},
		} {
			heap.allocated += step.allocates
			heap.spare = step.spare
			fake.Advance(quietFor)
			synctest.Wait()
			if freed != step.freed {
				t.Errorf("%+v: freed %d times", step, freed)
			}
		}
	})
	if h := readHeap(); h.allocated == 0 || h.spare > 1<<40 {
		t.Errorf("%+v", h)
	}
}
