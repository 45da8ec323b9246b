package workbench

import (
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
)

// commitHead returns the commit that a workbench stands on, and false for one
// that was never committed.
func (t *tenant) commitHead(r kv.Reader, in keys.Incarnation) (record.CommitHead, bool, error) {
	value, ok, err := r.Get(keys.AppendCommitHead(nil, t.root.ID(), in))
	if err != nil || !ok {
		return record.CommitHead{}, false, err
	}
	h, err := record.DecodeCommitHead(value.Bytes)
	if err != nil {
		return record.CommitHead{}, false, corrupt(err)
	}
	return h, true, nil
}
