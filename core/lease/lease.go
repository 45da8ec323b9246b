package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// ErrLost says that a lease is over: its time has passed, it was released, or
// another holder has the name.
var ErrLost = errors.New("lease: the lease is over")

// HeldError says that another holder has the name.
type HeldError struct {
	Holder string
	Until  time.Time
}

// Error names the holder and the time.
func (e *HeldError) Error() string {
	return fmt.Sprintf("lease: held by %q until %s", e.Holder, e.Until.Format(time.RFC3339Nano))
}

// Lease is what a holder has.
type Lease struct {
	Name, Holder string
	// Fence is greater than that of every earlier holder of the name.
	Fence uint64
	// Until is when the lease ends, by the store's clock, unless it is renewed.
	Until time.Time
}

// Acquire gives a free name to a holder for ttl, as part of tx. A holder that
// asks for a name that it has gets a new lease with a new fence: it may have
// restarted, and what it began before must not go on beside it.
//
// Errors: *HeldError.
func Acquire(tx *kv.Tx, name, holder string, ttl time.Duration) (Lease, error) {
	row, err := get(tx, name)
	if err != nil {
		return Lease{}, err
	}
	if row.live(tx) && row.Holder != holder {
		return Lease{}, &HeldError{Holder: row.Holder, Until: time.UnixMilli(row.UntilMillis).UTC()}
	}
	return put(tx, name, record.Lease{Fence: row.Fence + 1, Held: true, Holder: holder}, ttl), nil
}

// Renew makes a lease last for ttl from now, as part of tx. The fence stays.
//
// Errors: ErrLost.
func Renew(tx *kv.Tx, name string, fence uint64, ttl time.Duration) (Lease, error) {
	row, err := owned(tx, name, fence)
	if err != nil {
		return Lease{}, err
	}
	return put(tx, name, row.Lease, ttl), nil
}

// Check fails unless the lease with this fence lasts, as part of tx: what tx
// writes then happens under the lease or not at all.
//
// Errors: ErrLost.
func Check(tx *kv.Tx, name string, fence uint64) error {
	_, err := owned(tx, name, fence)
	return err
}

// Release ends a lease before its time, as part of tx.
//
// Errors: ErrLost.
func Release(tx *kv.Tx, name string, fence uint64) error {
	row, err := owned(tx, name, fence)
	if err != nil {
		return err
	}
	row.Held = false
	write(tx, name, row.Lease)
	return nil
}

type state struct{ record.Lease }

func (s state) live(tx *kv.Tx) bool { return s.Held && tx.Now().UnixMilli() < s.UntilMillis }

func get(tx *kv.Tx, name string) (state, error) {
	row, ok, err := tx.Get(keys.AppendLease(nil, tx.Root().ID(), name))
	if err != nil || !ok {
		return state{}, err
	}
	l, err := record.DecodeLease(row.Bytes)
	if err != nil {
		return state{}, fmt.Errorf("lease: row of %q: %w", name, err)
	}
	return state{l}, nil
}

func owned(tx *kv.Tx, name string, fence uint64) (state, error) {
	row, err := get(tx, name)
	if err != nil {
		return state{}, err
	}
	if !row.live(tx) || row.Fence != fence {
		return state{}, ErrLost
	}
	return row, nil
}

func put(tx *kv.Tx, name string, row record.Lease, ttl time.Duration) Lease {
	until := tx.Now().Add(ttl).Truncate(time.Millisecond)
	row.UntilMillis = until.UnixMilli()
	write(tx, name, row)
	return Lease{Name: name, Holder: row.Holder, Fence: row.Fence, Until: until}
}

func write(tx *kv.Tx, name string, row record.Lease) {
	tx.Put(keys.AppendLease(nil, tx.Root().ID(), name), record.AppendLease(nil, row))
}
