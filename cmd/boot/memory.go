package boot

import (
	"os"
	"runtime/debug"
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
