package timer

import (
	"context"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// check verifies TMR-1: the rows by name and the rows by due time are the same
// timers.
func check(ctx context.Context, v *kv.CheckView) (problems []kv.Problem) {
	report := func(key []byte, format string, args ...any) {
		problems = append(problems, kv.Problem{Invariant: "TMR-1", Key: slices.Clone(key), Text: fmt.Sprintf(format, args...)})
	}
	roots, _ := v.Roots()
	for _, root := range roots {
		if ctx.Err() != nil {
			return problems
		}
		due := make(map[string]bool)
		it := v.Housekeeping(keys.SpaceBounds(keys.SpaceTimerDue, root.ID()))
		for it.Next() {
			due[string(it.Key())] = true
		}
		if err := it.Close(); err != nil {
			report(nil, "%v", err)
		}
		it = v.Housekeeping(keys.SpaceBounds(keys.SpaceTimer, root.ID()))
		for it.Next() {
			_, kind, id, err := keys.CutTimer(it.Key())
			if err != nil {
				report(it.Key(), "%v", err)
				continue
			}
			row, err := record.DecodeTimer(it.Value().Bytes)
			if err != nil {
				report(it.Key(), "%v", err)
				continue
			}
			key := string(keys.AppendTimerDue(nil, root.ID(), row.DueMillis, kind, id))
			if !due[key] {
				report(it.Key(), "the timer is not among the due times")
			}
			delete(due, key)
		}
		if err := it.Close(); err != nil {
			report(nil, "%v", err)
		}
		for key := range due {
			report([]byte(key), "a due time without its timer")
		}
	}
	return problems
}
