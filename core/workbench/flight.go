package workbench

import (
	"sync"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// flightKey is the same for equal requests to commit.
type flightKey struct {
	root     uint32
	id       string
	identity keys.CommitIdentity
}

// flights are the operations of a kind that are carried out now, one for each
// identity.
type flights[K comparable, R any] struct {
	mu    sync.Mutex
	under map[K]*flight[K, R]
}

// flight is one of them. result and err are set when landed is closed.
type flight[K comparable, R any] struct {
	of     *flights[K, R]
	key    K
	landed chan struct{}
	result R
	err    error
}

// board returns the flight of a key, and whether the caller is the one to carry
// it out, and to call land.
func (f *flights[K, R]) board(key K) (*flight[K, R], bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if there := f.under[key]; there != nil {
		return there, false
	}
	if f.under == nil {
		f.under = make(map[K]*flight[K, R])
	}
	begun := &flight[K, R]{of: f, key: key, landed: make(chan struct{})}
	f.under[key] = begun
	return begun, true
}

func (f *flight[K, R]) land(result R, err error) {
	f.of.mu.Lock()
	delete(f.of.under, f.key)
	f.of.mu.Unlock()
	f.result, f.err = result, err
	close(f.landed)
}
