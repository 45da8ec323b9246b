package kv

import "errors"

// Opening.
var (
	// ErrFormat says that the data directory was written by a newer version of
	// the program, or by something else.
	ErrFormat = errors.New("kv: the data directory has a format that this program does not know")
)

// Reading.
var (
	// ErrBelowFloor says that a revision is older than the history window and
	// that no hold keeps it.
	ErrBelowFloor = errors.New("kv: revision is below the history floor")
	// ErrAhead says that a revision is not durable yet, or was never written.
	ErrAhead = errors.New("kv: revision is ahead of the durable watermark")
	// ErrHousekeeping says that a View was asked for a space that has no
	// revisions.
	ErrHousekeeping = errors.New("kv: a housekeeping space cannot be read from a view")
	// ErrForeignKey says that a key does not belong to the root, or to no space.
	ErrForeignKey = errors.New("kv: key is not of this root or of no known space")
)

// Writing.
var (
	// ErrOwnedByStore says that an Update wrote a space that the store keeps.
	ErrOwnedByStore = errors.New("kv: key is in a space that the store keeps for itself")
	// ErrTooLarge says that a value or an Update is over MaxValueBytes or
	// MaxUpdateBytes.
	ErrTooLarge = errors.New("kv: value or update is too large")
	// ErrNoHold says that a hold to release does not exist.
	ErrNoHold = errors.New("kv: no such hold")
)

// Ending.
var (
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("kv: store is closed")
	// ErrDead says that the write-ahead log failed. Nothing that the store was
	// asked since is durable.
	ErrDead = errors.New("kv: the write-ahead log has failed")
)
