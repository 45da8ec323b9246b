package op

// This file stands in for what gwgen writes next to the others, so that they compile and are tested here. It is not
// copied.

// ReasonInternal is the reason of everything that has none.
const ReasonInternal Reason = "INTERNAL"

var faces = map[Reason]Face{ReasonInternal: {HTTPStatus: 500, Connect: "internal", Text: "Internal error."}}

type (
	// Workbench stands in for an area.
	Workbench any
	// Jobs stands in for an area.
	Jobs any
	// Operator stands in for an area.
	Operator any
	// Storage stands in for an area.
	Storage any
)
