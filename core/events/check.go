package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// check verifies EVT-1 for every stream: its events are those that its head
// names, and there are no others.
func check(ctx context.Context, v *kv.CheckView) (problems []kv.Problem) {
	report := func(key []byte, format string, args ...any) {
		problems = append(problems, kv.Problem{Invariant: "EVT-1", Key: slices.Clone(key), Text: fmt.Sprintf(format, args...)})
	}
	roots, _ := v.Roots()
	for _, root := range roots {
		if ctx.Err() != nil {
			return problems
		}
		view := v.View(root)
		promised := checkHeads(view, root, report)
		found := uint64(0)
		lower, upper := keys.SpaceBounds(keys.SpaceEvent, root.ID())
		it := view.Scan(lower, upper, kv.ScanOptions{})
		for it.Next() {
			if _, _, _, err := keys.CutEvent(it.Key()); err != nil {
				report(it.Key(), "%v", err)
			}
			found++
		}
		if err := it.Close(); err != nil {
			report(nil, "%v", err)
		}
		// Every promised event was found by its key, so equal numbers mean that
		// there is no other.
		if found != promised {
			report(nil, "root %d has %d events, its heads name %d", root.ID(), found, promised)
		}
		v.Release(view)
	}
	return problems
}

// checkHeads looks for every event that a head names, and returns how many that
// are.
func checkHeads(view *kv.View, root kv.Root, report func(key []byte, format string, args ...any)) (promised uint64) {
	lower, upper := keys.SpaceBounds(keys.SpaceEventHead, root.ID())
	it := view.Scan(lower, upper, kv.ScanOptions{})
	for it.Next() {
		_, name, err := keys.CutEventHead(it.Key())
		if err != nil {
			report(it.Key(), "%v", err)
			continue
		}
		row, err := record.DecodeEventHead(it.Value().Bytes)
		h := Head(row)
		if err != nil || h.First == 0 || h.First > h.Last+1 {
			report(it.Key(), "head %+v, %v", h, err)
			continue
		}
		promised += h.Len()
		next, err := Read(view, root, name, h.First, 0, func(uint64, []byte) error { return nil })
		if err != nil || next != h.Last+1 {
			report(it.Key(), "head %+v, but the events end before %d: %v", h, next, err)
		}
	}
	if err := it.Close(); err != nil {
		report(nil, "%v", err)
	}
	return promised
}
