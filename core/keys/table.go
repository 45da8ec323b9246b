package keys

import "slices"

// Space is one row of the table: a family of keys with one writer and one
// meaning.
type Space struct {
	// ID is the first byte of every key of the space. Part of the store's
	// format: never renumber (KEY-1).
	ID   byte
	Name string
	// Versioned says that core/kv keeps every revision of a key (newest first)
	// for the history window and for holds, and that a View can read the space.
	// A space that is not versioned is housekeeping: overwritten in place, and
	// readable only inside an Update.
	Versioned bool
	// Immutable says of a space that is not versioned that its rows are written
	// once, never changed, and deleted only when nothing refers to them any more.
	// A View reads them too: whoever reaches one does so through a versioned row
	// that the View shows, so no revision is needed to tell what it may see.
	Immutable bool
	// Order names the parts after the root id, in key order.
	Order string
	// Cardinality says how many rows there are, per root unless it says otherwise.
	Cardinality string
	// Writer and Reader name the packages that touch the space.
	Writer, Reader string
	// Invariant ties the space to others; Check verifies it.
	Invariant string
}

// Table holds every key space of the store, by id. A row is added where its
// owner's encoders are (kv.go, workbench.go, blob.go, …).
var Table = buildTable(kvSpaces, workbenchSpaces, commitSpaces, snapshotSpaces, restoreSpaces, crawlSpaces, bodySpaces, streamSpaces)

var byID = func() (t [256]*Space) {
	for i := range Table {
		t[Table[i].ID] = &Table[i]
	}
	return t
}()

// Lookup returns the row of a space, or nil for an id that no space has.
func Lookup(id byte) *Space { return byID[id] }

// Of returns the space and the root of a key, and false when the key is too
// short to have them or its first byte is no space.
func Of(key []byte) (space *Space, root uint32, ok bool) {
	if len(key) < PrefixLen {
		return nil, 0, false
	}
	space = byID[key[0]]
	if space == nil {
		return nil, 0, false
	}
	return space, rootOf(key), true
}

func buildTable(families ...[]Space) []Space {
	var all []Space
	for _, f := range families {
		all = append(all, f...)
	}
	slices.SortFunc(all, func(a, b Space) int { return int(a.ID) - int(b.ID) })
	for i := 1; i < len(all); i++ {
		if all[i].ID == all[i-1].ID {
			panic("keys: two spaces with one id: " + all[i-1].Name + " and " + all[i].Name)
		}
	}
	return all
}
