package workbench

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// List gives one page of the direct children of a directory, in path order, live
// or at a snapshot. A name that is a file and a directory is one entry, the file;
// listing it gives what is below.
func (w *Workbench) List(ctx context.Context, req *op.WorkbenchListRequest) (*op.WorkbenchListResult, error) {
	p, err := jail.ParseScope(req.ID, req.Section, req.Path)
	if err != nil {
		return nil, named(err)
	}
	limit := int(op.LimitListDefaultLimit)
	if req.Limit != nil {
		limit = int(*req.Limit)
	}
	if limit < 1 || limit > int(op.LimitListMaxLimit) {
		return nil, invalid("$.limit", "must be from 1 to 100")
	}
	if err := checkSelector(req.AtSnapshot); err != nil {
		return nil, err
	}
	t, err := w.tenant(ctx)
	if err != nil {
		return nil, err
	}
	sel := req.AtSnapshot
	var from listCursor
	if req.Cursor != nil {
		var ok bool
		if from, ok = w.openListCursor(t, p, sel, *req.Cursor); !ok {
			return nil, badCursor("must be one that this tool gave for the same directory and the same at_snapshot")
		}
		if sel != nil {
			// A listing goes on in the snapshot in which it began, also when the name
			// means a newer one by now.
			sel = &op.IntOrString{Int: int64(from.snapshot)}
		}
	}
	a := w.newListAnswer(p, limit)
	a.AtSnapshot = req.AtSnapshot
	err = w.look(ctx, t, p, sel, func(v *kv.View, m moment) error {
		here := listCursor{incarnation: m.in, snapshot: m.snapshot, fence: uint64(v.Revision())}
		if !m.frozen() {
			head, err := t.head(v, m.in)
			if err != nil {
				return err
			}
			here.fence = head.ContentRevision
		}
		if req.Cursor != nil && (from.incarnation != here.incarnation || from.fence != here.fence) {
			return fault.New(op.ReasonWBReadFenceChanged, "").With("operation", "list")
		}
		more, err := w.page(v, t, m, p, from.last, a)
		if err != nil {
			return err
		}
		if more {
			here.last = a.Entries[len(a.Entries)-1].Name
			next := w.sealListCursor(t, p, req.AtSnapshot, here)
			a.NextCursor, a.Truncated = &next, true
		}
		if len(a.Entries) > 0 || req.Cursor != nil || p.SectionRoot() {
			return nil
		}
		// A directory that nothing is below may be a file.
		if _, ok, err := t.file(v, m.in, p.Full); err != nil {
			return err
		} else if ok {
			return fault.New(op.ReasonWBNotDirectory, "").With("path", p.Full)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.EntryCount = int32(len(a.Entries))
	return &a.WorkbenchListResult, nil
}

// page adds the children after a name to the answer, and reports whether there
// are more than it has room for.
func (w *Workbench) page(v *kv.View, t *tenant, m moment, p jail.Place, after string, a *listAnswer) (more bool, err error) {
	if !m.frozen() {
		more, _, err = t.list(v, m.in, p, after, a)
		return more, err
	}
	k := sparseKey{t.root.ID(), m.in, m.snapshot, p.Full, after, a.limit}
	if more, ok := w.sparse.show(k, a); ok {
		return more, nil
	}
	more, passed, err := t.list(v, m.in, p, after, a)
	if err == nil {
		w.sparse.keep(k, a, passed, more)
	}
	return more, err
}

// list reads a page from the store. passed counts the newer keys that it met.
func (t *tenant) list(v *kv.View, in keys.Incarnation, p jail.Place, after string, a *listAnswer) (more bool, passed int, err error) {
	c := t.children(v, in, p.Full, after)
	defer func() {
		passed = c.it.PassedOver()
		c.close()
	}()
	more, err = c.fill(p, after, a)
	return more, 0, err
}

// fill adds the children that it goes over to the answer, with the sections
// among them when it is the workbench's root that is listed.
func (c *children) fill(p jail.Place, after string, a *listAnswer) (more bool, err error) {
	var sections []jail.Section
	if p.Root() {
		all := jail.SectionsInPathOrder()
		for i := range all {
			if all[i].String() > after {
				sections = all[i:]
				break
			}
		}
	}
	stored := c.next()
	for {
		// The sections are there whether or not anything is stored below them.
		if len(sections) > 0 {
			name := sections[0].String()
			if stored && name == string(c.name) {
				sections = sections[1:]
			} else if !stored || name < string(c.name) {
				if a.full() {
					return true, c.err()
				}
				a.add([]byte(name), nil)
				sections = sections[1:]
				continue
			}
		}
		if !stored {
			return false, c.err()
		}
		if a.full() {
			return true, c.err()
		}
		if !c.file {
			a.add(c.name, nil)
		} else {
			size, err := record.FileLength(c.it.Value().Bytes)
			if err != nil {
				return false, corrupt(err)
			}
			a.add(c.name, &size)
		}
		stored = c.next()
	}
}

// children goes over the direct children of a directory (WB-8). Below a child
// it looks at one key at most.
type children struct {
	it     *kv.Iter
	prefix []byte // of every key below the directory
	seek   []byte
	begun  bool
	failed error

	name []byte // of the present child; its own memory
	file bool
}

func (t *tenant) children(v *kv.View, in keys.Incarnation, full, after string) *children {
	c := &children{prefix: keys.AppendPathInside(keys.AppendPathRecords(nil, t.root.ID(), in), full)}
	upper := keys.AppendEnd(nil, c.prefix)
	// The directory's own record begins with the prefix and a separator; its
	// children go on with a byte above it.
	c.seek = append(append(c.seek, c.prefix...), 0x01)
	if after != "" {
		c.past(after)
	}
	c.it = v.Scan(c.prefix, upper, kv.ScanOptions{})
	return c
}

// past points the next seek behind a child and everything below it.
func (c *children) past(name string) {
	c.seek = append(append(append(c.seek[:0], c.prefix...), name...), 0x01)
}

func (c *children) next() bool {
	var ok bool
	switch {
	case !c.begun:
		c.begun = true
		ok = c.it.SeekGE(c.seek)
	case c.file:
		// The next key is a sibling's, most likely.
		ok = c.it.Next()
		if ok {
			rest := c.it.Key()[len(c.prefix):]
			if len(rest) > len(c.name) && rest[len(c.name)] == 0 && bytes.HasPrefix(rest, c.name) {
				c.past(string(c.name))
				ok = c.it.SeekGE(c.seek)
			}
		}
	default:
		c.past(string(c.name))
		ok = c.it.SeekGE(c.seek)
	}
	if !ok {
		return false
	}
	name, file, err := keys.CutChild(c.it.Key()[len(c.prefix):])
	if err != nil {
		c.failed = corrupt(err)
		return false
	}
	c.name, c.file = append(c.name[:0], name...), file
	return true
}

func (c *children) err() error {
	if c.failed != nil {
		return c.failed
	}
	return c.it.Err()
}

func (c *children) close() { _ = c.it.Close() }

// listAnswer is a result together with what its pointers point to.
type listAnswer struct {
	op.WorkbenchListResult
	place    jail.Place
	section  string
	relative string
	limit    int
	memory   []entryMemory
	paths    strings.Builder // of all entries; what it gave out stays as it is
	inside   jail.Section    // of every entry, unless the workbench's root is listed
	above    string          // of every entry's relative path
}

type entryMemory struct {
	section, relative string
	size              int64
}

func (w *Workbench) newListAnswer(p jail.Place, limit int) *listAnswer {
	a := &listAnswer{place: p, limit: limit}
	a.WorkbenchID = p.ID
	a.Path = w.root.Path(p.ID, p.Full)
	a.WorkbenchPath = a.Path[:len(w.root)+1+len(p.ID)]
	a.Section, a.RelativePath = echo(p, &a.section, &a.relative)
	a.Entries = []op.WorkbenchListEntry{}
	if !p.Root() {
		a.inside, a.above = jail.Split(p.Full)
	}
	return a
}

func (a *listAnswer) full() bool { return len(a.Entries) == a.limit }

// add appends an entry; size is nil for a directory.
func (a *listAnswer) add(name []byte, size *int64) {
	if len(a.memory) == cap(a.memory) {
		// A new block: what points into the old one goes on doing so. Few entries
		// are common, and then a full page is.
		room := min(a.limit, 8)
		if len(a.Entries) > 0 {
			room = a.limit - len(a.Entries)
		}
		a.Entries = slices.Grow(a.Entries, room)
		a.memory = make([]entryMemory, 0, room)
		a.paths.Grow(room * (len(a.Path) + 1 + max(16, len(name))))
	}
	a.memory = append(a.memory, entryMemory{})
	m := &a.memory[len(a.memory)-1]
	at := a.paths.Len()
	a.paths.WriteString(a.Path)
	a.paths.WriteByte('/')
	a.paths.Write(name)
	path := a.paths.String()[at:]
	e := op.WorkbenchListEntry{Name: path[len(a.Path)+1:], Path: path, Kind: kindDirectory}
	section, relative := a.inside, e.Name
	switch {
	case a.place.Root():
		section, relative = jail.Split(e.Name)
	case a.above != "":
		relative = path[len(path)-len(name)-1-len(a.above):]
	}
	e.Section, e.RelativePath = child(section, relative, &m.section, &m.relative)
	if size != nil {
		m.size = *size
		e.Kind, e.SizeBytes = kindFile, &m.size
	}
	a.Entries = append(a.Entries, e)
}
