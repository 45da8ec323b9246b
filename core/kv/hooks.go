package kv

import (
	"fmt"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// Hooks let the owner of something that rows refer to keep count of them. Both
// run inside the turn that they belong to: what they write is applied with it,
// and they keep to the rules of an Update's closure. An error fails that turn.
type Hooks struct {
	// OnWrite is called after the closure of an Update has returned nil, once for
	// each key of the space that it wrote, with the value that it has in the end.
	// Deletions are not writes.
	OnWrite func(tx *Tx, key, value []byte) error
	// OnReap is called when a version is dropped for good. tx may write spaces
	// without versions only; its Revision is not used up.
	OnReap func(tx *Tx, key []byte, rev Revision, value []byte) error
}

// Hook registers the hooks of a versioned space. It is called before the first
// Update, once for each space.
func (s *Store) Hook(space byte, h Hooks) {
	if sp := keys.Lookup(space); sp == nil || !sp.Versioned || s.hooks[space] != nil {
		panic(fmt.Sprintf("kv: hooks for space %#x, which has no versions or has hooks already", space))
	}
	s.reapMu.Lock()
	defer s.reapMu.Unlock()
	s.hooks[space] = &h
	s.hooked = true
}

// runWriteHooks calls OnWrite for what the closure wrote.
func (tx *Tx) runWriteHooks() error {
	if !tx.store.hooked {
		return nil
	}
	// Hooks add writes of their own, which have none.
	for i := range len(tx.writes) {
		w := tx.writes[i]
		h := tx.store.hooks[w.key[0]]
		if h == nil || h.OnWrite == nil || w.deleted {
			continue
		}
		if err := h.OnWrite(tx, w.key, w.value); err != nil {
			return err
		}
	}
	return nil
}

// reapHook calls OnReap for a version that the reaper drops in this turn.
func (d *dropper) reapHook(q *queued) error {
	h := d.store.hooks[q.row.Key[0]]
	if h == nil || h.OnReap == nil {
		return nil
	}
	if err := d.open(); err != nil {
		return err
	}
	d.buf = appendVersioned(d.buf[:0], q.row.Key, Revision(q.row.Revision))
	if !d.it.SeekPrefixGE(d.buf) {
		return d.it.Error()
	}
	key, rev, ok := splitPhysical(d.it.Key())
	if !ok || uint64(rev) != q.row.Revision {
		return d.it.Error() // it is gone already
	}
	stored, err := d.it.ValueAndErr()
	if err != nil {
		return err
	}
	value, deleted, err := splitValue(stored)
	if err != nil || deleted {
		return err
	}
	if d.tx == nil {
		d.tx = newTx(d.store, d.root)
		d.tx.begin()
	}
	return h.OnReap(d.tx, d.tx.mem.copy(key), rev, d.tx.mem.copy(value))
}

// sealHooks adds what OnReap wrote to the turn's batch.
func (d *dropper) sealHooks() error {
	if d.tx == nil {
		return nil
	}
	if d.tx.err != nil {
		return d.tx.err
	}
	for i := range d.tx.writes {
		if d.tx.writes[i].versioned {
			return fmt.Errorf("kv: a reaping hook wrote the versioned key %s", formatKey(d.tx.writes[i].key))
		}
	}
	_, err := d.tx.sealWrites(d.batch)
	return err
}

// closeHooks ends the Tx of the turn's hooks.
func (d *dropper) closeHooks() {
	if d.tx != nil {
		d.tx.end()
		d.tx.recycle()
		d.tx = nil
	}
}
