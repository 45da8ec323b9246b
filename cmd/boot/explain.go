package boot

import (
	"context"
	"errors"

	"github.com/sawhorse-dev/sawhorse/cmd/boot/datadir"
	"github.com/sawhorse-dev/sawhorse/cmd/words"
	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/backup"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// DataPlace is the data directory as commands name it.
func DataPlace(dir string) words.Place {
	return words.Place{Name: "The data directory (--data)", Path: dir}
}

// refusals are what the parts of the store refuse in words of their own, which are for the log.
var refusals = []struct {
	is     error
	reason op.Reason
	text   string
}{
	{backup.ErrNotEmpty, op.ReasonWBInvalidState, "The data directory (--data) is not empty: restore into one that is, or that does not exist."},
	{backup.ErrDamaged, op.ReasonWBCorrupt, "The backup is damaged: a file of it is missing or has other bytes than it was made with. Restore another one."},
	{backup.ErrManifest, op.ReasonWBInvalidArguments, "There is no backup in it that this program can read: name a directory that sawhorse backup has made, or one backup in it."},
	{backup.ErrInside, op.ReasonWBInvalidArguments, "DEST lies in the data directory: name a place outside of it."},
	{core.ErrBusy, op.ReasonUnavailable, "Another backup of this data directory is being made: wait for it, and run it again."},
	{kv.ErrRestoring, op.ReasonWBInvalidState, "A restore into this data directory (--data) has not come to its end: run restore-backup again."},
	{kv.ErrFormat, op.ReasonWBInvalidState, "The data directory (--data) was written by a newer sawhorse, or by something else."},
	{kv.ErrNoSpace, op.ReasonResourceExhausted, "The data directory (--data) is on a disk that is full: make room there, and run it again."},
	{errSlowClose, op.ReasonDeadlineExceeded, "The disk has not answered in time, and the store is left as a kill would leave it: what was acknowledged is safe."},
}

// openError says that the store of a directory cannot be opened.
type openError struct{ err error }

func (e *openError) Error() string { return "open the data directory: " + e.err.Error() }
func (e *openError) Unwrap() error { return e.err }

// Explain puts what kept a command from its work into public words: a reason, the operand and what to do. What was said in
// public words already stays so. The error as it came is the cause, for the log.
func Explain(err error, places ...words.Place) *fault.Error {
	var coded *fault.Error
	var deaf *deafError
	var held *datadir.HeldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded) && coded.Reason != op.ReasonInternal:
		return fault.New(coded.Reason, coded.Message).Because(err)
	case errors.As(err, &deaf):
		return fault.New(op.ReasonUnavailable, deaf.Error()).Because(err)
	case errors.As(err, &held):
		return fault.New(op.ReasonUnavailable, held.Error()).Because(err)
	case errors.Is(err, datadir.ErrNoOwner):
		return fault.New(op.ReasonUnavailable, "No process has the data directory open right now; run it again.").Because(err)
	}
	var root *core.RootError
	if errors.As(err, &root) {
		return fault.New(op.ReasonWBInvalidArguments, root.Error()).Because(err)
	}
	if f := words.OfFile(err, places...); f != nil {
		return f
	}
	for _, r := range refusals {
		if errors.Is(err, r.is) {
			return fault.New(r.reason, r.text).Because(err)
		}
	}
	var unopened *openError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.From(err)
	case errors.As(err, &unopened):
		return fault.New(op.ReasonWBInvalidState, "The store in the data directory (--data) cannot be opened: it is damaged, or of another program. "+
			"Run it again with --log-level debug for the cause; restore-backup makes a data directory of a backup.").Because(err)
	}
	return fault.New(op.ReasonInternal, "").Because(err)
}
