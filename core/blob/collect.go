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

// collectRows is how many rows one step of the collector deletes or looks up.
const collectRows = 128

// Collect removes what nothing refers to any more: extents beyond the last
// reference of their list, staged files of uploads that are over, and files
// without a row. It works in bounded updates that let others go first, and
// returns when nothing more can be done now; blocked says that something waits
// for a reader, an older View or a Freeze to end.
//
// Collect is safe at any time; two calls run one after the other.
func (s *Store) Collect(ctx context.Context) (blocked bool, err error) {
	s.collecting.Lock()
	defer s.collecting.Unlock()
	if s.isFrozen() {
		return true, nil
	}
	for _, root := range s.takeDirty() {
		b, err := s.collectRoot(ctx, root)
		if b || err != nil {
			s.mu.Lock()
			s.dirty[root] = true
			s.mu.Unlock()
		}
		blocked = blocked || b
		if err != nil {
			return blocked, fmt.Errorf("blob: root %d: %w", root.ID(), err)
		}
	}
	return blocked, nil
}

// takeDirty returns the roots to look at, in the order of their ids. A root with
// uploads in progress is one of them: some may be given up.
func (s *Store) takeDirty() []kv.Root {
	all, _ := s.kv.Roots()
	s.mu.Lock()
	defer s.mu.Unlock()
	uploading := make(map[uint32]bool)
	for u := range s.uploads {
		uploading[u.root] = true
	}
	var roots []kv.Root
	for _, r := range all {
		if s.dirty[r] || uploading[r.ID()] {
			roots = append(roots, r)
		}
	}
	clear(s.dirty)
	return roots
}

func (s *Store) collectRoot(ctx context.Context, root kv.Root) (blocked bool, err error) {
	if err := s.dropStale(ctx, root); err != nil {
		return false, err
	}
	blocked, err = s.trimLoose(ctx, root)
	if err != nil {
		return blocked, err
	}
	if err := s.noteOrphans(ctx, root); err != nil {
		return blocked, err
	}
	return blocked, s.removeLoose(ctx, root)
}

// steps runs a bounded Update again and again until it says that it is done.
// from is where the one before left off, nil at first.
func (s *Store) steps(ctx context.Context, root kv.Root, step func(tx *kv.Tx, from []byte) (next []byte, err error)) error {
	var from []byte
	for {
		var next []byte
		frozen, err := s.unlessFrozen(func() error {
			return s.kv.UpdateBackground(ctx, root, func(tx *kv.Tx) (err error) {
				next, err = step(tx, from)
				return err
			})
		})
		if frozen || err != nil || next == nil {
			return err
		}
		from = next
	}
}

// unlessFrozen runs one step of the collector, which Freeze waits for.
func (s *Store) unlessFrozen(step func() error) (frozen bool, err error) {
	s.stepping.Lock()
	defer s.stepping.Unlock()
	if s.isFrozen() {
		return true, nil
	}
	return false, step()
}

// scanFrom scans a space of the root from a key on, or from its beginning.
func scanFrom(tx *kv.Tx, space byte, from []byte, limit int) *kv.Iter {
	lower, upper := keys.SpaceBounds(space, tx.Root().ID())
	if from != nil {
		lower = from
	}
	return tx.Scan(lower, upper, kv.ScanOptions{Limit: limit})
}

// after returns the first key that comes after key.
func after(key []byte) []byte { return append(slices.Clone(key), 0) }

// dropStale turns the staging rows of uploads that are over into loose files:
// those of an earlier process, those that were given up, and those that have
// rested for longer than the grace.
func (s *Store) dropStale(ctx context.Context, root kv.Root) error {
	return s.steps(ctx, root, func(tx *kv.Tx, from []byte) (next []byte, err error) {
		it := scanFrom(tx, keys.SpaceStaging, from, collectRows)
		defer it.Close()
		for n := 1; it.Next(); n++ {
			_, id, err := keys.CutStaging(it.Key())
			if err != nil {
				return nil, corrupt("a staging row has a malformed key: %v", err)
			}
			if n == collectRows {
				next = after(it.Key())
			}
			if !s.uploading(segmentKey{root.ID(), id}) {
				tx.Delete(it.Key())
				s.loosen(tx, id)
			}
		}
		return next, it.Err()
	})
}

// uploading reports whether an upload is in progress in this process, and not
// resting for too long.
func (s *Store) uploading(key segmentKey) bool {
	now := s.clk.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[key]
	return u != nil && now.Sub(u.touched) <= s.grace
}

// loosen notes a file for removal.
func (s *Store) loosen(tx *kv.Tx, id keys.SegmentID) {
	tx.Put(keys.AppendLooseFile(nil, tx.Root().ID(), id), record.AppendLooseFile(nil, record.Loose{}))
}

// trimLoose deletes, from the lists in the queue, the extents that no reference
// reaches.
func (s *Store) trimLoose(ctx context.Context, root kv.Root) (blocked bool, err error) {
	err = s.steps(ctx, root, func(tx *kv.Tx, from []byte) (next []byte, err error) {
		it := scanFrom(tx, keys.SpaceLooseList, from, 1)
		defer it.Close()
		if !it.Next() {
			return nil, it.Err()
		}
		_, list, err := keys.CutLooseList(it.Key())
		if err != nil {
			return nil, corrupt("a loose list has a malformed key: %v", err)
		}
		next = slices.Clone(it.Key())
		if s.reachable(root, record.BodyList(list)) {
			blocked = true
			return append(next, 0), nil
		}
		// Again from the same list, until it is out of the queue.
		return next, s.trim(tx, record.BodyList(list))
	})
	return blocked, err
}

// reachable reports whether somebody may still read what a loose list has lost:
// a View from before the collector met the list after its last loss, or a
// body opened in such a View (BLOB-7). Views come first: a View's body is pinned before
// the View ends.
func (s *Store) reachable(root kv.Root, list record.BodyList) bool {
	pin := listPin{root.ID(), list}
	s.mu.Lock()
	mark, met := s.loose[pin]
	if !met {
		mark = s.kv.ViewMark(root)
		s.loose[pin] = mark
	}
	s.mu.Unlock()
	return !s.kv.ViewsEnded(root, mark) || s.pinned(pin)
}

// unmark forgets when the collector met a list.
func (s *Store) unmark(list listPin) {
	s.mu.Lock()
	delete(s.loose, list)
	s.mu.Unlock()
}

// trim deletes up to collectRows extents of a list, from its lost end on, and
// takes the list out of the queue when none is left.
func (s *Store) trim(tx *kv.Tx, list record.BodyList) error {
	root := tx.Root().ID()
	reach, err := reachOf(tx, list)
	if err != nil {
		return err
	}
	lower := keys.AppendBodyExtent(nil, root, keys.ListID(list), uint64(reach)+1)
	upper := keys.AppendEnd(nil, keys.AppendBodyExtents(nil, root, keys.ListID(list)))
	it := tx.Scan(lower, upper, kv.ScanOptions{Limit: collectRows})
	defer it.Close()
	n := 0
	for ; it.Next(); n++ {
		x, err := record.DecodeExtent(it.Value().Bytes)
		if err != nil {
			return corrupt("an extent of loose list %v: %v", list, err)
		}
		tx.Delete(it.Key())
		if x.Segment {
			tx.Delete(keys.AppendSegment(nil, root, x.SegmentID))
			s.loosen(tx, x.SegmentID)
		}
	}
	if err := it.Err(); err != nil || n == collectRows {
		return err
	}
	tx.Delete(keys.AppendLooseList(nil, root, keys.ListID(list)))
	s.unmark(listPin{root, list})
	if reach == 0 {
		tx.Delete(keys.AppendBodyList(nil, root, keys.ListID(list)))
	}
	return nil
}

// removeLoose removes the files in the queue: first the files, then their names
// from the directory for good, then the rows. After a crash in between, it does
// the same again.
func (s *Store) removeLoose(ctx context.Context, root kv.Root) error {
	for {
		ids, err := s.looseFiles(ctx, root)
		if err != nil || len(ids) == 0 {
			return err
		}
		frozen, err := s.unlessFrozen(func() error { return s.removeFiles(root.ID(), ids) })
		if frozen || err != nil {
			return err
		}
		err = s.kv.UpdateBackground(ctx, root, func(tx *kv.Tx) error {
			for _, id := range ids {
				tx.Delete(keys.AppendLooseFile(nil, root.ID(), id))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

func (s *Store) removeFiles(root uint32, ids []keys.SegmentID) error {
	for _, id := range ids {
		if err := s.fs.Remove(s.segmentPath(root, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a segment: %w", err)
		}
	}
	// A file that was noted may never have been created, nor its directory.
	if err := s.syncDir(s.rootDir(root)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// looseFiles returns the first files in the queue. Their notes are durable when
// it returns.
func (s *Store) looseFiles(ctx context.Context, root kv.Root) (ids []keys.SegmentID, err error) {
	lower, upper := keys.SpaceBounds(keys.SpaceLooseFile, root.ID())
	err = s.kv.UpdateBackground(ctx, root, func(tx *kv.Tx) error {
		ids = ids[:0]
		it := tx.Scan(lower, upper, kv.ScanOptions{Limit: collectRows})
		defer it.Close()
		for it.Next() {
			_, id, err := keys.CutLooseFile(it.Key())
			if err != nil {
				return corrupt("a loose file has a malformed key: %v", err)
			}
			ids = append(ids, id)
		}
		return it.Err()
	})
	return ids, err
}

// noteOrphans puts files without a row into the queue of loose files. There are
// none, as long as nobody but this package touches the directory (BLOB-6); it
// is looked at once after each start.
func (s *Store) noteOrphans(ctx context.Context, root kv.Root) error {
	s.mu.Lock()
	done := s.swept[root]
	s.mu.Unlock()
	if done {
		return nil
	}
	names, err := s.fs.List(s.rootDir(root.ID()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listing segments: %w", err)
	}
	// The names were listed before the rows are read: a file that is created
	// meanwhile is not among them, one that is removed meanwhile may be noted once
	// more, which does no harm.
	for batch := range slices.Chunk(names, collectRows) {
		err := s.steps(ctx, root, func(tx *kv.Tx, _ []byte) (next []byte, err error) {
			return nil, s.noteUnknown(tx, batch)
		})
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.swept[root] = true
	s.mu.Unlock()
	return nil
}

func (s *Store) noteUnknown(tx *kv.Tx, names []string) error {
	for _, name := range names {
		id, ok := parseSegmentName(name)
		if !ok {
			continue // not ours
		}
		known, err := s.knows(tx, id)
		if err != nil {
			return err
		}
		if !known {
			s.log.Warn("a file of bodies has no row; it is removed", "root", tx.Root().ID(), "segment", name)
			s.loosen(tx, id)
		}
	}
	return nil
}

// knows reports whether a file has a row.
func (s *Store) knows(tx *kv.Tx, id keys.SegmentID) (bool, error) {
	root := tx.Root().ID()
	for _, key := range [][]byte{
		keys.AppendSegment(nil, root, id), keys.AppendStaging(nil, root, id), keys.AppendLooseFile(nil, root, id),
	} {
		if _, ok, err := tx.Get(key); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
