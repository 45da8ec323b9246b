package kv

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// commit is an update that is applied and not yet known to be durable.
type commit struct {
	batch  *pebble.Batch
	number uint64
}

// Update runs fn in its turn, on the caller's goroutine, and returns when
// whatever fn saw and wrote is durable: on success, and just as well when fn
// returned an error or wrote nothing (KV-3). All writes of fn become visible
// together, under one revision of the root; when fn returns an error or panics
// there is no trace of it (KV-5).
//
// fn may be run again, so it has no effects but those on tx. It does not wait,
// does no I/O but through tx, and neither sorts nor hashes more than 64 KiB:
// nobody else's turn comes meanwhile. What takes longer runs in a View before,
// and fn checks that it still holds.
//
// Errors: that of fn as it is; UNAVAILABLE when too many updates wait already, or
// the store was closed or has failed; RESOURCE_EXHAUSTED when the disk is
// nearly full and fn wrote something; CANCELLED and DEADLINE_EXCEEDED when ctx
// ended before fn ran. Once fn has run, ctx no longer matters.
func (s *Store) Update(ctx context.Context, root Root, fn func(tx *Tx) error) error {
	return s.update(ctx, root, foreground, fn)
}

// UpdateBackground is Update for a bounded step of work that nobody waits for:
// it lets callers of Update go first. Such work frees more space than it takes,
// so it is not refused on a disk that is nearly full, as long as the log fits.
func (s *Store) UpdateBackground(ctx context.Context, root Root, fn func(tx *Tx) error) error {
	return s.update(ctx, root, background, fn)
}

func (s *Store) update(ctx context.Context, root Root, c class, fn func(tx *Tx) error) error {
	if root.state == nil {
		return ErrForeignKey
	}
	s.goOn()
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.background.start(s)
	tx := newTx(s, root.state)
	tx.class = c
	own, err := s.turn(ctx, c, tx, fn)
	// From here on the turn is another's; only the sync is still awaited.
	if own.batch != nil {
		s.counters.updates.Add(1)
		if syncErr := s.syncWait(&own); syncErr != nil {
			return syncErr
		}
		if err == nil {
			for _, wake := range tx.wakes {
				wake()
			}
		}
	} else if tx.ran {
		s.counters.refusals.Add(1)
		if waitErr := s.waitDurable(own.number); waitErr != nil {
			return waitErr
		}
	}
	tx.recycle()
	return err
}

// turn runs fn and applies what it wrote. The commit it returns has no batch when
// there was nothing to write; its number is then that of the last update that fn
// can have seen.
func (s *Store) turn(ctx context.Context, c class, tx *Tx, fn func(tx *Tx) error) (own commit, err error) {
	if err := ctx.Err(); err != nil {
		return commit{}, contextFault(ctx)
	}
	if err := s.seq.acquire(ctx, c); err != nil {
		return commit{}, err
	}
	// A panic in fn passes through; the turn ends all the same.
	defer s.seq.release()
	defer tx.end()
	own.number = s.lastNumber
	tx.begin()
	if err := fn(tx); err != nil {
		if tx.told && s.toldMillis > s.markedMillis {
			own, markErr := s.applyClockMark()
			return own, errors.Join(markErr, err)
		}
		return own, err
	}
	return s.commitTx(tx, own)
}

// commitTx applies what a Tx wrote, in its turn.
func (s *Store) commitTx(tx *Tx, seen commit) (commit, error) {
	if err := tx.runWriteHooks(); err != nil {
		return seen, err
	}
	b, err := tx.seal()
	if err != nil {
		return seen, err
	}
	if b == nil {
		if tx.told && s.toldMillis > s.markedMillis {
			return s.applyClockMark()
		}
		return seen, nil
	}
	st := tx.root
	for i := range tx.writes {
		if w := &tx.writes[i]; w.versioned {
			s.rows.drop(w.key, s.lastNumber+1)
		}
	}
	own, err := s.apply(b, st, tx.rev)
	if err != nil {
		return seen, err
	}
	st.head, st.headAt = tx.rev, tx.now()
	s.markedMillis = max(s.markedMillis, st.headAt)
	tx.applyHolds()
	return *own, nil
}

// applyClockMark makes an instant that a Tx was told, and that no row holds,
// survive a restart.
func (s *Store) applyClockMark() (commit, error) {
	b := s.db.NewBatch()
	if err := b.Set(appendBare(nil, keys.AppendClock(nil)), record.AppendClockMark(nil, record.ClockMark{AtMillis: s.toldMillis}), nil); err != nil {
		return commit{}, errors.Join(err, b.Close())
	}
	own, err := s.apply(b, nil, 0)
	if err != nil {
		return commit{}, err
	}
	s.markedMillis = s.toldMillis
	return *own, nil
}

// apply hands a batch to Pebble, in the caller's turn: it is visible to later
// turns when apply returns, and on its way to the disk.
func (s *Store) apply(b *pebble.Batch, st *rootState, rev Revision) (*commit, error) {
	if s.readOnly.on.Load() {
		return nil, errors.Join(s.noSpace(), b.Close())
	}
	s.counters.bytes.Add(uint64(b.Len()))
	s.space.wrote(b.Len())
	number := s.lastNumber + 1
	s.mark.add(applied{number: number, root: st, rev: rev})
	if err := s.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		s.die(err)
		return nil, s.deadFault()
	}
	if s.isDead() {
		// Pebble reports success to a logger that came back from Fatalf.
		return nil, s.deadFault()
	}
	s.lastNumber = number
	return &commit{batch: b, number: number}, nil
}

// syncWait returns when a commit is durable and the watermark covers it.
func (s *Store) syncWait(c *commit) error {
	if err := c.batch.SyncWait(); err != nil {
		s.die(err)
	}
	if s.isDead() {
		return s.deadFault()
	}
	s.mark.advance(c.number)
	return c.batch.Close()
}

// waitDurable returns when the update with this number is durable.
func (s *Store) waitDurable(number uint64) error {
	if err := s.mark.wait(number, s.dead); err != nil {
		return s.deadFault()
	}
	return nil
}
