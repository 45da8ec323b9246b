package workbench

import (
	"fmt"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// SparsePages counts the pages of listings at snapshots that are kept.
func (w *Workbench) SparsePages() int {
	return len(w.sparse.now) + len(w.sparse.before)
}

// SparseBytes is what they cost.
func (w *Workbench) SparseBytes() (sum int) {
	for _, pages := range []map[sparseKey]*sparsePage{w.sparse.now, w.sparse.before} {
		for k, p := range pages {
			sum += p.cost(k)
		}
	}
	return sum
}

// FillSparse keeps pages of nobody's until others, of so many bytes, have gone by.
func (w *Workbench) FillSparse(bytes int) {
	a := &listAnswer{}
	for i := range 100 {
		a.Entries = append(a.Entries, op.WorkbenchListEntry{Name: fmt.Sprintf("%0100d", i)})
	}
	for i := 0; i*10_000 < bytes; i++ {
		w.sparse.keep(sparseKey{after: fmt.Sprint(i)}, a, 1_000, false)
	}
}
