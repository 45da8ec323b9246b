package events

import "github.com/sawhorse-dev/sawhorse/core/kv"

// Watch is one follower of a stream. Its owner reads the log, waits for C, and
// reads again; it ends with Close.
type Watch struct {
	log    *Log
	stream stream
	c      chan struct{}
}

// Watch begins to watch a stream. Wake-ups count from the moment it returns: a
// follower watches first and reads then, so that it misses nothing (EVT-3).
func (l *Log) Watch(root kv.Root, name string) *Watch {
	w := &Watch{log: l, stream: stream{root.ID(), name}, c: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watchers[w.stream] == nil {
		l.watchers[w.stream] = make(map[*Watch]struct{})
	}
	l.watchers[w.stream][w] = struct{}{}
	return w
}

// C delivers a value when there may be new events. It holds one: a follower
// that is slow gets one wake-up for many events.
func (w *Watch) C() <-chan struct{} { return w.c }

// Close ends the watch. Calling it twice does nothing.
func (w *Watch) Close() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	all := w.log.watchers[w.stream]
	delete(all, w)
	if len(all) == 0 {
		delete(w.log.watchers, w.stream)
	}
}

func (l *Log) wake(s stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.watchers[s] {
		select {
		case w.c <- struct{}{}:
		default:
		}
	}
}
