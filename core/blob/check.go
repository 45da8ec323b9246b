package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// check verifies BLOB-1, 2, 5 and 6 on one state of the store. It reads every
// byte of every body once, however many versions share it. The collector rests
// meanwhile.
func (s *Store) check(ctx context.Context, v *kv.CheckView) []kv.Problem {
	defer s.Freeze()()
	c := &checker{s: s, v: v, buf: batchBuffers.Get().(*[batchFrames * frameSize]byte)}
	defer batchBuffers.Put(c.buf)
	roots, _ := v.Roots()
	for _, root := range roots {
		if ctx.Err() != nil {
			c.problem("BLOB-1", nil, "the check was stopped: %v", ctx.Err())
			break
		}
		c.root = root
		c.references = 0
		c.rows()
		c.lists(ctx)
		c.files()
	}
	return c.problems
}

type checker struct {
	s        *Store
	v        *kv.CheckView
	root     kv.Root
	problems []kv.Problem
	buf      *[batchFrames * frameSize]byte
	// references counts what the governed rows of the root ask for.
	references int
}

const maxProblems = 100

func (c *checker) problem(invariant string, key []byte, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, kv.Problem{Invariant: invariant, Key: slices.Clone(key), Text: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) scan(space byte) *kv.Iter {
	return c.v.Housekeeping(keys.SpaceBounds(space, c.root.ID()))
}

// end closes a scan and reports what ended it early.
func (c *checker) end(it *kv.Iter) {
	if err := it.Close(); err != nil {
		c.problem("BLOB-1", nil, "%v", err)
	}
}

// get reads a row of a space without versions.
func (c *checker) get(key []byte) (value []byte, ok bool) {
	it := c.v.Housekeeping(key, after(key))
	defer c.end(it)
	if !it.Next() {
		return nil, false
	}
	return slices.Clone(it.Value().Bytes), true
}

// rows checks every version of every row that embeds bodies: that its record
// agrees with itself, and that its references exist.
func (c *checker) rows() {
	for _, g := range c.s.governed {
		visit := func(key []byte, rev kv.Revision, value []byte) {
			bodies, err := g.bodies(value)
			if err != nil {
				c.problem("BLOB-1", key, "bodies of the row: %v", err)
			}
			for i := range bodies {
				c.body(key, uint64(rev), &bodies[i])
			}
		}
		lower, upper := keys.SpaceBounds(g.space, c.root.ID())
		if keys.Lookup(g.space).Versioned {
			if err := c.v.Versions(lower, upper, visit); err != nil {
				c.problem("BLOB-1", nil, "%v", err)
			}
			continue
		}
		it := c.v.Housekeeping(lower, upper)
		for it.Next() {
			visit(it.Key(), 0, it.Value().Bytes)
		}
		c.end(it)
	}
}

func (c *checker) body(key []byte, rev uint64, b *record.Body) {
	if b.Length != b.Spanned()+int64(len(b.Tail)) || len(b.Tail) > TailLimit || len(b.Spans) > MaxSpans {
		c.problem("BLOB-1", key, "a body of %d bytes in %d lists and a tail of %d", b.Length, len(b.Spans), len(b.Tail))
	}
	if sum, err := digestOf(b); err != nil || sum != b.SHA256 {
		c.problem("BLOB-1", key, "the digest of the record is not that of its hash state and tail: %v", err)
	}
	for _, span := range b.Spans {
		c.references++
		ref := keys.BodyRef{List: keys.ListID(span.List), End: uint64(span.End), Holder: holderOf(key), Revision: rev}
		if _, ok := c.get(keys.AppendBodyRef(nil, c.root.ID(), ref)); !ok {
			c.problem("BLOB-5", key, "version %d has no reference to list %v up to %d", rev, span.List, span.End)
		}
	}
}

// lists checks the extents of every list, and every reference to it.
func (c *checker) lists(ctx context.Context) {
	found := 0
	it := c.scan(keys.SpaceBodyList)
	for it.Next() && ctx.Err() == nil {
		_, id, err := keys.CutBodyList(it.Key())
		if err != nil {
			c.problem("BLOB-2", it.Key(), "%v", err)
			continue
		}
		l, err := record.DecodeList(it.Value().Bytes)
		if err != nil {
			c.problem("BLOB-2", it.Key(), "%v", err)
			continue
		}
		refs := c.refs(id)
		found += len(refs)
		c.list(record.BodyList(id), l, refs)
	}
	c.end(it)
	if ctx.Err() != nil {
		return
	}
	// Each row's reference exists; equal numbers then mean that there is no other.
	if found != c.references {
		c.problem("BLOB-5", nil, "root %d: %d references to lists that exist, %d in rows", c.root.ID(), found, c.references)
	}
	total := 0
	all := c.scan(keys.SpaceBodyRef)
	for ; all.Next(); total++ {
	}
	c.end(all)
	if total != found {
		c.problem("BLOB-5", nil, "root %d: %d references to lists that do not exist", c.root.ID(), total-found)
	}
}

// reference is a reference to a list, and the digest up to its end.
type reference struct {
	end int64
	sum [32]byte
}

// refs returns the references to a list, nearest first.
func (c *checker) refs(list keys.ListID) []reference {
	lower := keys.AppendBodyRefs(nil, c.root.ID(), list)
	it := c.v.Housekeeping(lower, keys.AppendEnd(nil, lower))
	defer c.end(it)
	var refs []reference
	for it.Next() {
		_, ref, err := keys.CutBodyRef(it.Key())
		if err != nil {
			c.problem("BLOB-5", it.Key(), "%v", err)
			continue
		}
		value, err := record.DecodeBodyRef(it.Value().Bytes)
		if err != nil {
			c.problem("BLOB-5", it.Key(), "%v", err)
			continue
		}
		refs = append(refs, reference{int64(ref.End), value.SHA256})
	}
	slices.Reverse(refs)
	return refs
}

// list reads a list from its start, and compares the digest where a reference
// ends.
func (c *checker) list(id record.BodyList, l record.List, refs []reference) {
	root := c.root.ID()
	key := keys.AppendBodyList(nil, root, keys.ListID(id))
	sum := newHasher()
	defer sum.free()
	if l.Start > 0 {
		if err := sum.resume(l.Hash, l.Start); err != nil {
			c.problem("BLOB-2", key, "%v", err)
			return
		}
	}
	_, loose := c.get(keys.AppendLooseList(nil, root, keys.ListID(id)))
	reach := int64(0)
	if len(refs) > 0 {
		reach = refs[len(refs)-1].end
	}
	at, broken := l.Start, false
	lower := keys.AppendBodyExtents(nil, root, keys.ListID(id))
	it := c.v.Housekeeping(lower, keys.AppendEnd(nil, lower))
	defer c.end(it)
	for it.Next() {
		e, err := loadExtent(it)
		if err != nil {
			c.problem("BLOB-1", it.Key(), "%v", err)
			broken = true
			continue
		}
		if e.end > reach {
			// Beyond the last reference nobody reads, and the collector may have
			// been here.
			if !loose {
				c.problem("BLOB-5", it.Key(), "no reference reaches the extent, and the list is not in the queue")
			}
			continue
		}
		if e.start != at {
			c.problem("BLOB-2", it.Key(), "the extent begins at %d, the one before ends at %d", e.start, at)
			broken = true
		}
		at = e.end
		if err := c.extent(id, e, sum); err != nil {
			c.problem("BLOB-1", it.Key(), "%v", err)
			broken = true
		}
		for len(refs) > 0 && refs[0].end <= at {
			if refs[0].end != at {
				c.problem("BLOB-2", it.Key(), "a body ends at %d, inside the extent", refs[0].end)
			} else if !broken && refs[0].sum != sum.digest() {
				c.problem("BLOB-1", it.Key(), "the digest of the first %d bytes is not that of the reference", at)
			}
			refs = refs[1:]
		}
	}
	if len(refs) > 0 {
		c.problem("BLOB-2", key, "the list ends at %d, a body reaches to %d", at, reach)
	}
	if reach == 0 && !loose {
		c.problem("BLOB-5", key, "the list has no reference and is not in the queue")
	}
}

// extent hashes the bytes of an extent; those in a file are read and checked.
func (c *checker) extent(list record.BodyList, e loadedExtent, sum *hasher) (err error) {
	if !e.segment {
		_, err := sum.Write(e.data)
		return err
	}
	value, ok := c.get(keys.AppendSegment(nil, c.root.ID(), e.id))
	if !ok {
		return fmt.Errorf("segment %x has no row (BLOB-6)", e.id)
	}
	row, err := record.DecodeSegment(value)
	if err != nil || row.List != list || row.End != e.end || row.Length != e.end-e.start {
		return fmt.Errorf("the row of segment %x names another extent: %+v, %v (BLOB-6)", e.id, row, err)
	}
	r, err := openSegment(c.s.fs, c.s.segmentPath(c.root.ID(), e.id), e.id, row.Length, c.buf)
	if errors.Is(err, fs.ErrNotExist) && !c.current(e.id) {
		return nil // removed since the state that is checked
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	return r.read(0, row.Length, func(p []byte) error {
		_, err := sum.Write(p)
		return err
	})
}

// current reports whether a segment is published now.
func (c *checker) current(id keys.SegmentID) (ok bool) {
	err := c.s.kv.View(context.Background(), c.root, func(v *kv.View) error {
		var err error
		_, ok, err = v.Get(keys.AppendSegment(nil, c.root.ID(), id))
		return err
	})
	return ok || err != nil
}

// knownNow reports whether a file has a row now: it may be younger than the
// state that is checked.
func (c *checker) knownNow(id keys.SegmentID) (ok bool) {
	err := c.s.kv.UpdateBackground(context.Background(), c.root, func(tx *kv.Tx) (err error) {
		ok, err = c.s.knows(tx, id)
		return err
	})
	return ok || err != nil
}

// files compares the directory with the rows.
func (c *checker) files() {
	root := c.root.ID()
	dir := c.s.rootDir(root)
	names, err := c.s.fs.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.problem("BLOB-6", nil, "%v", err)
		return
	}
	patient := c.s.clk.Now().Sub(c.s.openedAt) <= c.s.grace
	for _, name := range names {
		id, ok := parseSegmentName(name)
		if !ok || patient || c.s.uploading(segmentKey{root, id}) {
			continue
		}
		if !c.known(id) && !c.knownNow(id) {
			c.problem("BLOB-6", nil, "root %d: file %s has no row", root, name)
		}
	}
	it := c.scan(keys.SpaceSegment)
	defer c.end(it)
	for it.Next() {
		_, id, err := keys.CutSegment(it.Key())
		if err != nil {
			c.problem("BLOB-6", it.Key(), "%v", err)
			continue
		}
		row, err := record.DecodeSegment(it.Value().Bytes)
		if err != nil {
			c.problem("BLOB-6", it.Key(), "%v", err)
			continue
		}
		if _, ok := c.get(keys.AppendBodyExtent(nil, root, keys.ListID(row.List), uint64(row.End))); !ok {
			c.problem("BLOB-6", it.Key(), "the extent that owns the segment does not exist")
		}
		info, err := c.s.fs.Stat(c.s.segmentPath(root, id))
		switch {
		case err != nil && c.current(id):
			c.problem("BLOB-6", it.Key(), "the file: %v", err)
		case err == nil && info.Size() != fileLen(row.Length):
			c.problem("BLOB-6", it.Key(), "the file has %d bytes, not %d", info.Size(), fileLen(row.Length))
		}
	}
}

// known reports whether a file has a row, and complains when it has two.
func (c *checker) known(id keys.SegmentID) bool {
	root, n := c.root.ID(), 0
	for _, key := range [][]byte{
		keys.AppendSegment(nil, root, id), keys.AppendStaging(nil, root, id), keys.AppendLooseFile(nil, root, id),
	} {
		if _, ok := c.get(key); ok {
			n++
		}
	}
	if n > 1 {
		c.problem("BLOB-6", nil, "root %d: segment %x has %d rows", root, id, n)
	}
	return n > 0
}
