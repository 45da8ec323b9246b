package workbench

import (
	"context"
	"sync/atomic"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// gate bounds how many calls of a kind run at one time, and how many wait for
// that (WB-36).
type gate struct {
	room    chan struct{}
	waiting atomic.Int64
	queue   int64
	busy    string // the public sentence of a refusal
}

func newGate(running, queue int64, busy string) gate {
	return gate{room: make(chan struct{}, running), queue: queue, busy: busy}
}

// enter waits for room; the caller ends it with leave.
//
// Errors: UNAVAILABLE at once when too many wait already; the context's.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g.room <- struct{}{}:
		return g.leave, nil
	default:
	}
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.queue {
		return nil, fault.New(op.ReasonUnavailable, g.busy)
	}
	select {
	case g.room <- struct{}{}:
		return g.leave, nil
	case <-ctx.Done():
		return nil, fault.From(context.Cause(ctx))
	}
}

func (g *gate) leave() { <-g.room }
