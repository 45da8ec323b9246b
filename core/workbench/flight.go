package workbench

import (
	"sync"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// flightKey is the same for equal requests.
type flightKey struct {
	root     uint32
	id       string
	identity keys.CommitIdentity
}

// flights are the commits that are carried out now, one for each identity.
type flights struct {
	mu    sync.Mutex
	under map[flightKey]*flight
}

// flight is one of them. result and err are set when landed is closed.
type flight struct {
	of     *flights
	key    flightKey
	landed chan struct{}
	result *op.WorkbenchCommitResult
	err    error
}

// board returns the flight of a key, and whether the caller is the one to carry
// it out, and to call land.
func (f *flights) board(key flightKey) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if there := f.under[key]; there != nil {
		return there, false
	}
	if f.under == nil {
		f.under = make(map[flightKey]*flight)
	}
	begun := &flight{of: f, key: key, landed: make(chan struct{})}
	f.under[key] = begun
	return begun, true
}

func (f *flight) land(result *op.WorkbenchCommitResult, err error) {
	f.of.mu.Lock()
	delete(f.of.under, f.key)
	f.of.mu.Unlock()
	f.result, f.err = result, err
	close(f.landed)
}
