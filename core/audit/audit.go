package audit

import (
	"fmt"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// Change is what a caller says about a change.
type Change struct {
	// Action is an operation id.
	Action string
	// Target names what was changed, in the words of the action's area.
	Target string
	// Detail is what else is to be remembered, as canonical JSON or empty. It holds
	// no secret and no body.
	Detail []byte
}

// Entry is a record.
type Entry struct {
	// Revision is that of the Update, Number counts its records from 0.
	Revision kv.Revision
	Number   uint32
	At       time.Time
	// Tenant and User are those of the principal. User is empty when the system
	// acted by itself.
	Tenant [16]byte
	User   string
	Change
}

// Append records a change by who, as part of tx.
func Append(tx *kv.Tx, who actor.Principal, c Change) error {
	root, rev := tx.Root().ID(), uint64(tx.Revision())
	for number := uint32(0); ; number++ {
		key := keys.AppendAudit(nil, root, rev, number)
		_, taken, err := tx.Get(key)
		if err != nil {
			return err
		}
		if taken {
			continue
		}
		tx.Insert(key, record.AppendAudit(nil, record.Audit{
			AtMillis: tx.Now().UnixMilli(), Tenant: who.Tenant, User: who.User,
			Action: c.Action, Target: c.Target, Detail: c.Detail,
		}))
		return nil
	}
}

// Read calls fn with the records of a root from a revision on, in order, as r
// shows them, until fn returns an error. Detail is valid until fn returns.
func Read(r kv.Reader, root kv.Root, from kv.Revision, fn func(Entry) error) error {
	lower := keys.AppendAudit(nil, root.ID(), uint64(from), 0)
	_, upper := keys.SpaceBounds(keys.SpaceAudit, root.ID())
	it := r.Scan(lower, upper, kv.ScanOptions{})
	defer it.Close()
	for it.Next() {
		e, err := decode(it.Key(), it.Value().Bytes)
		if err != nil {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return it.Err()
}

func decode(key, value []byte) (Entry, error) {
	_, rev, number, err := keys.CutAudit(key)
	if err != nil {
		return Entry{}, fmt.Errorf("audit: key of a record: %w", err)
	}
	a, err := record.DecodeAudit(value)
	if err != nil {
		return Entry{}, fmt.Errorf("audit: record %d of revision %d: %w", number, rev, err)
	}
	return Entry{
		Revision: kv.Revision(rev), Number: number, At: time.UnixMilli(a.AtMillis).UTC(),
		Tenant: a.Tenant, User: a.User, Change: Change{Action: a.Action, Target: a.Target, Detail: a.Detail},
	}, nil
}
