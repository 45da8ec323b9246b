package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
)

// RegisterCheck adds the check of this package's rows to the store's.
func RegisterCheck(s *kv.Store) { s.RegisterCheck("audit", check) }

// check verifies AUD-1 and AUD-2 as far as rows can show them: each record was
// written by the revision that its key names, and none was written over.
func check(ctx context.Context, v *kv.CheckView) (problems []kv.Problem) {
	report := func(invariant string, key []byte, format string, args ...any) {
		problems = append(problems, kv.Problem{Invariant: invariant, Key: slices.Clone(key), Text: fmt.Sprintf(format, args...)})
	}
	roots, _ := v.Roots()
	for _, root := range roots {
		if ctx.Err() != nil {
			return problems
		}
		view := v.View(root)
		lower, upper := keys.SpaceBounds(keys.SpaceAudit, root.ID())
		it := view.Scan(lower, upper, kv.ScanOptions{})
		var before Entry
		for it.Next() {
			e, err := decode(it.Key(), it.Value().Bytes)
			if err != nil {
				report("AUD-2", it.Key(), "%v", err)
				continue
			}
			if e.Revision != it.Value().Rev {
				report("AUD-1", it.Key(), "written by revision %d", it.Value().Rev)
			}
			if e.Revision != before.Revision && e.Number != 0 || e.Revision == before.Revision && e.Number != before.Number+1 {
				report("AUD-2", it.Key(), "comes after number %d of revision %d", before.Number, before.Revision)
			}
			before = e
		}
		if err := it.Close(); err != nil {
			report("AUD-2", nil, "%v", err)
		}
		v.Release(view)
	}
	return problems
}
