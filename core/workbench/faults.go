package workbench

import (
	"errors"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// named gives a broken naming rule its reason.
func named(err error) error {
	var v *jail.Violation
	if !errors.As(err, &v) {
		return err
	}
	reason := op.ReasonWBBadPath
	switch v.Kind {
	case jail.BadID:
		reason = op.ReasonWBBadID
	case jail.ReservedAt:
		reason = op.ReasonWBReservedPath
	}
	return fault.New(reason, v.Error())
}

func invalid(member, rule string) error {
	return fault.New(op.ReasonWBInvalidArguments, member+": "+rule)
}

func notFound(p jail.Place) error {
	return fault.New(op.ReasonWBNotFound, "").With("path", p.Full)
}

// noWorkbench is notFound where nothing can be stored, for want of a workbench.
func noWorkbench(p jail.Place) error {
	return fault.New(op.ReasonWBNotFound, "No workbench has this id; workbench_create makes one.").With("path", p.Full)
}

// noSnapshot is notFound for a selector that selects nothing.
func noSnapshot(p jail.Place) error {
	return fault.New(op.ReasonWBNotFound, "No snapshot of this workbench has the id or name in at_snapshot; leave it out to see the present files.").With("path", p.Full)
}

func tooLarge(actual, maximum int64, message string) error {
	return fault.New(op.ReasonWBPayloadTooLarge, message).With("actual_bytes", actual).With("maximum_bytes", maximum)
}

// corrupt reports a stored row that does not decode.
func corrupt(err error) error {
	return fault.New(op.ReasonWBCorrupt, "").Because(err)
}
