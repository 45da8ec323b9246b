package oprecord

import (
	"context"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// RegisterCheck adds the check of this package's rows to the store's.
func RegisterCheck(s *kv.Store) { s.RegisterCheck("oprecord", check) }

// check verifies that every record decodes and keeps OPR-3.
func check(ctx context.Context, v *kv.CheckView) (problems []kv.Problem) {
	report := func(key []byte, format string, args ...any) {
		problems = append(problems, kv.Problem{Invariant: "OPR-3", Key: slices.Clone(key), Text: fmt.Sprintf(format, args...)})
	}
	roots, _ := v.Roots()
	for _, root := range roots {
		if ctx.Err() != nil {
			return problems
		}
		view := v.View(root)
		lower, upper := keys.SpaceBounds(keys.SpaceOperation, root.ID())
		it := view.Scan(lower, upper, kv.ScanOptions{})
		for it.Next() {
			if _, _, _, err := keys.CutOperation(it.Key()); err != nil {
				report(it.Key(), "%v", err)
			}
			rec, err := record.DecodeOperation(it.Value().Bytes)
			if err != nil || len(rec.Answer) > MaxAnswerBytes {
				report(it.Key(), "an answer of %d bytes, %v", len(rec.Answer), err)
			}
		}
		if err := it.Close(); err != nil {
			report(nil, "%v", err)
		}
		v.Release(view)
	}
	return problems
}
