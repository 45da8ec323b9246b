package lease

import (
	"context"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// RegisterCheck adds the check of this package's rows to the store's.
func RegisterCheck(s *kv.Store) { s.RegisterCheck("lease", check) }

// check verifies that every row decodes and that a name which was leased has a
// fence (LEA-1).
func check(ctx context.Context, v *kv.CheckView) (problems []kv.Problem) {
	roots, _ := v.Roots()
	for _, root := range roots {
		if ctx.Err() != nil {
			return problems
		}
		it := v.Housekeeping(keys.SpaceBounds(keys.SpaceLease, root.ID()))
		for it.Next() {
			_, _, err := keys.CutLease(it.Key())
			row, rowErr := record.DecodeLease(it.Value().Bytes)
			if err != nil || rowErr != nil || row.Fence == 0 {
				problems = append(problems, kv.Problem{Invariant: "LEA-1", Key: slices.Clone(it.Key()),
					Text: fmt.Sprintf("fence %d, %v, %v", row.Fence, err, rowErr)})
			}
		}
		if err := it.Close(); err != nil {
			problems = append(problems, kv.Problem{Invariant: "LEA-1", Text: err.Error()})
		}
	}
	return problems
}
