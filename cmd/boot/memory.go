package boot

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/clock"
)

const (
	// gcPercent lets garbage grow to four times what lives before it is collected. What lives in the Go heap is a few
	// megabytes, since the store's caches are outside of it: with the default, the collector runs twenty times a second
	// under load and takes a tenth of the processor. Measured with the benchmark of this repository.
	gcPercent = 400
	// memoryLimit makes the collector work harder again when large bodies fill the heap.
	memoryLimit = 1 << 30
)

// TuneMemory sets the collector for a server, unless the environment has its own words (GOGC, GOMEMLIMIT).
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

const (
	// quietFor is how long a server looks on before it gives memory back.
	quietFor = 15 * time.Second
	// quietBytes is what is allocated meanwhile at most, for it to count as quiet.
	quietBytes = 32 << 20
	// spareBytes is how much the heap may hold that nothing lives in.
	spareBytes = 64 << 20
)

// heapState is what the runtime says of its heap.
type heapState struct {
	allocated uint64 // bytes, ever
	spare     uint64 // bytes that belong to the process and hold nothing that lives
}

func readHeap() heapState {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	v := func(i int) uint64 { return s[i].Value.Uint64() }
	return heapState{allocated: v(0), spare: v(1) + v(2) + v(3) - min(v(3), v(4))}
}

// GiveBack gives memory back to the machine after large answers, until ctx ends: with the collector as it is set above, the
// runtime would keep several times what lives, for minutes, and nobody would collect what the last large answer has left.
func GiveBack(ctx context.Context, clk clock.Clock) { giveBack(ctx, clk, readHeap, debug.FreeOSMemory) }

func giveBack(ctx context.Context, clk clock.Clock, read func() heapState, free func()) {
	t := clk.NewTimer(quietFor)
	defer t.Stop()
	before := read()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C():
		}
		now := read()
		if now.allocated-before.allocated <= quietBytes && now.spare > spareBytes {
			free()
			now = read()
		}
		before = now
		t.Reset(quietFor)
	}
}
