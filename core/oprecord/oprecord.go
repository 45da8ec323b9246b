package oprecord

import (
	"errors"
	"fmt"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// ErrConflict says that the key belongs to an operation with another request.
var ErrConflict = errors.New("oprecord: the key belongs to another request")

// MaxAnswerBytes is how long an answer may be (OPR-3).
const MaxAnswerBytes = 16 << 10

// ErrTooLarge says that an answer is longer than MaxAnswerBytes.
var ErrTooLarge = errors.New("oprecord: the answer is too large to be kept")

// Operation names an operation and its request.
type Operation struct {
	// Kind keeps the keys of different operations apart; it is an operation id.
	Kind string
	// Key is the identity: what the caller chose, or what follows from the request.
	Key string
	// Fingerprint is the digest of everything in the request that must be equal in
	// a retry.
	Fingerprint canon.Digest
}

// Answer is what was answered first.
type Answer struct {
	// At is when that was, by the store's clock.
	At time.Time
	// Bytes belong to the operation's kind. They are valid as long as what r.Get
	// returns.
	Bytes []byte
}

// Find returns the first answer to an operation as r shows it, and false when
// there is none yet.
//
// Errors: ErrConflict (OPR-2).
func Find(r kv.Reader, root kv.Root, o Operation) (Answer, bool, error) {
	row, ok, err := r.Get(keys.AppendOperation(nil, root.ID(), o.Kind, o.Key))
	if err != nil || !ok {
		return Answer{}, false, err
	}
	rec, err := record.DecodeOperation(row.Bytes)
	if err != nil {
		return Answer{}, false, fmt.Errorf("oprecord: record of a %s: %w", o.Kind, err)
	}
	if rec.Fingerprint != o.Fingerprint {
		return Answer{}, false, ErrConflict
	}
	return Answer{At: time.UnixMilli(rec.AtMillis).UTC(), Bytes: rec.Answer}, true, nil
}

// Once returns the first answer to an operation, as part of tx. When there is
// none, do does the work in tx and makes the answer, which is then kept; replayed
// tells the two apart. An error of do keeps nothing.
//
// Errors: ErrConflict; ErrTooLarge; that of do.
func Once(tx *kv.Tx, o Operation, do func() ([]byte, error)) (answer Answer, replayed bool, err error) {
	answer, replayed, err = Find(tx, tx.Root(), o)
	if replayed || err != nil {
		return answer, replayed, err
	}
	bytes, err := do()
	if err != nil {
		return Answer{}, false, err
	}
	if len(bytes) > MaxAnswerBytes {
		return Answer{}, false, ErrTooLarge
	}
	answer = Answer{At: tx.Now(), Bytes: bytes}
	tx.Insert(keys.AppendOperation(nil, tx.Root().ID(), o.Kind, o.Key), record.AppendOperation(nil, record.Operation{
		Fingerprint: o.Fingerprint, AtMillis: answer.At.UnixMilli(), Answer: bytes,
	}))
	return answer, false, nil
}
