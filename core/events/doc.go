// Package events is the durable log: per stream, a sequence of events without a
// gap, which readers follow.
//
// An event is appended by the Update that makes it true, so there is no event
// without its change and no change without its event. A follower reads a View
// (the state, and the last sequence that goes with it), and then the log from
// there on; Watch tells it when to read again. It never takes an event from a
// wake-up: what it reads is in the log, and durable.
//
// Invariants:
//
//	EVT-1  The sequences of a stream are 1, 2, 3, … in the order of the updates
//	       that appended them; none is given twice, not even after Trim has
//	       dropped everything or after a crash. The events that exist are exactly
//	       those from the head's first to its last.
//	EVT-2  In a View, the events end with the last one that was appended up to the
//	       View's revision.
//	EVT-3  A watcher that has seen sequence n, and then finds nothing after n in a
//	       View, is woken once the next event is durable: no wake-up is lost.
//	       Several events may share one wake-up, and a wake-up may find nothing.
package events
