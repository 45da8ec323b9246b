package blob

import (
	"crypto/sha256"
	"fmt"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Bodies returns the bodies that a row's value embeds. The result may alias
// value.
type Bodies func(value []byte) ([]record.Body, error)

type governedSpace struct {
	space  byte
	bodies Bodies
}

// Govern says that the rows of a space embed bodies. From then on a version of
// such a row holds its bodies by itself: writing one adds the references, in the
// same Update, and its reaping drops them (BLOB-5). Nothing is left to the writer
// of the row, so a body can be carried over to another version or another row by
// writing its record there.
//
// Rows of a housekeeping space have no reaping: their writer calls Refer and
// Forget; Govern then only lets Check know of them.
//
// Govern is called before the first Update, once for each space.
func (s *Store) Govern(space byte, bodies Bodies) {
	s.governed = append(s.governed, governedSpace{space, bodies})
	if !keys.Lookup(space).Versioned {
		return
	}
	s.kv.Hook(space, kv.Hooks{
		OnWrite: func(tx *kv.Tx, key, value []byte) error {
			all, err := bodies(value)
			if err != nil {
				return fmt.Errorf("blob: bodies of a row: %w", err)
			}
			for i := range all {
				if err := s.refer(tx, key, uint64(tx.Revision()), &all[i]); err != nil {
					return err
				}
			}
			return nil
		},
		OnReap: func(tx *kv.Tx, key []byte, rev kv.Revision, value []byte) error {
			all, err := bodies(value)
			if err != nil {
				return fmt.Errorf("blob: bodies of a row: %w", err)
			}
			for i := range all {
				if err := s.forget(tx, key, uint64(rev), &all[i]); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// Refer makes the row with this key, in a housekeeping space, hold a body.
func (s *Store) Refer(tx *kv.Tx, key []byte, b record.Body) error { return s.refer(tx, key, 0, &b) }

// Forget undoes Refer with the same arguments. The row's writer calls it in the
// Update that deletes the row or puts another body there.
func (s *Store) Forget(tx *kv.Tx, key []byte, b record.Body) error { return s.forget(tx, key, 0, &b) }

func holderOf(key []byte) (h keys.Holder) {
	sum := sha256.Sum256(key)
	copy(h[:], sum[:])
	return h
}

// refer writes the references by which version rev of a row holds a body: one
// for each list that the body goes through.
func (s *Store) refer(tx *kv.Tx, key []byte, rev uint64, b *record.Body) error {
	if len(b.Spans) == 0 {
		return nil
	}
	ref := keys.BodyRef{Holder: holderOf(key), Revision: rev}
	for i, span := range b.Spans {
		ref.List, ref.End = keys.ListID(span.List), uint64(span.End)
		state := b.Hash
		if i < len(b.Spans)-1 {
			// The next list began where this span ends, and knows the state there.
			next, err := getList(tx, b.Spans[i+1].List)
			if err != nil {
				return err
			}
			state = next.Hash
		}
		sum, err := digestAt(state, span.End)
		if err != nil {
			return err
		}
		tx.Put(keys.AppendBodyRef(nil, tx.Root().ID(), ref), record.AppendBodyRef(nil, record.BodyRef{SHA256: sum}))
	}
	return nil
}

func getList(tx *kv.Tx, list record.BodyList) (record.List, error) {
	row, ok, err := tx.Get(keys.AppendBodyList(nil, tx.Root().ID(), keys.ListID(list)))
	if err != nil {
		return record.List{}, err
	}
	if !ok {
		return record.List{}, corrupt("list %v does not exist", list)
	}
	l, err := record.DecodeList(row.Bytes)
	if err != nil {
		return record.List{}, corrupt("list %v: %v", list, err)
	}
	return l, nil
}

// digestAt returns the digest of n bytes by the state after them.
func digestAt(state record.HashState, n int64) (sum [sha256.Size]byte, err error) {
	h := newHasher()
	defer h.free()
	if err := h.resume(state, n); err != nil {
		return sum, err
	}
	return h.digest(), nil
}

// forget deletes what refer wrote, and notes the lists that reach farther now
// than any reference to them.
func (s *Store) forget(tx *kv.Tx, key []byte, rev uint64, b *record.Body) error {
	if len(b.Spans) == 0 {
		return nil
	}
	root := tx.Root()
	ref := keys.BodyRef{Holder: holderOf(key), Revision: rev}
	for _, span := range b.Spans {
		ref.List, ref.End = keys.ListID(span.List), uint64(span.End)
		tx.Delete(keys.AppendBodyRef(nil, root.ID(), ref))
		reach, err := reachOf(tx, span.List)
		if err != nil {
			return err
		}
		if reach < span.End {
			tx.Put(keys.AppendLooseList(nil, root.ID(), ref.List), record.AppendLooseList(nil, record.Loose{}))
			// The collector's own turn comes after this one, so that it marks the
			// moment anew. Should this Update fail, it finds nothing new.
			s.unmark(listPin{root.ID(), span.List})
			s.soil(root)
		}
	}
	return nil
}

// reachOf returns where the farthest reference to a list ends, 0 when there is
// none.
func reachOf(tx *kv.Tx, list record.BodyList) (int64, error) {
	lower := keys.AppendBodyRefs(nil, tx.Root().ID(), keys.ListID(list))
	it := tx.Scan(lower, keys.AppendEnd(nil, lower), kv.ScanOptions{Limit: 1})
	defer it.Close()
	if !it.Next() {
		return 0, it.Err()
	}
	_, ref, err := keys.CutBodyRef(it.Key())
	if err != nil {
		return 0, corrupt("a reference has a malformed key: %v", err)
	}
	return int64(ref.End), nil
}
