package kv

// arena hands out memory that lives until reset. What it gave out never moves.
type arena struct {
	chunk []byte
}

const arenaChunk = 4 << 10

func (a *arena) copy(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	if cap(a.chunk)-len(a.chunk) < len(b) {
		// The old chunk lives as long as something points into it.
		a.chunk = make([]byte, 0, max(arenaChunk, 2*len(b)))
	}
	n := len(a.chunk)
	a.chunk = append(a.chunk, b...)
	return a.chunk[n:len(a.chunk):len(a.chunk)]
}

// maxKeptChunk bounds what an idle arena holds on to.
const maxKeptChunk = 64 << 10

func (a *arena) reset() {
	if cap(a.chunk) > maxKeptChunk {
		a.chunk = nil
	}
	a.chunk = a.chunk[:0]
}
