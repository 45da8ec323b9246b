package kv

import "bytes"

// newerSkipper has Pebble's iterator pass over what is newer than a View by
// itself, which is cheaper than to stop at each such key.
type newerSkipper struct {
	at     Revision
	passed int
	key    []byte // that was passed over last
	run    int    // how many of its versions
}

// skip reports whether to pass over a key. It lets a key of which it has passed
// many versions through, so that the scan sees it and seeks.
func (n *newerSkipper) skip(physical []byte) bool {
	key, rev, ok := splitPhysical(physical)
	if !ok || rev <= n.at {
		return false
	}
	n.passed++
	if !bytes.Equal(key, n.key) {
		n.key, n.run = append(n.key[:0], key...), 1
		return true
	}
	n.run++
	return n.run <= seekAfter
}
