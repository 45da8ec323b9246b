package op

// Reason is the inner name of a refusal, from a closed registry.
type Reason string

// Face is how a reason looks from outside.
type Face struct {
	HTTPStatus int
	// Connect is the Connect code, "not_found".
	Connect   string
	Retryable bool
	// Text is the public sentence when the code that refuses gives none of its own.
	Text string
	// Code is the public code in each area's envelope, by Area. An area that never gives the reason has "".
	Code [areaCount]string
	// Details are the only detail members that may leave with this reason.
	Details []DetailMember
}

// DetailMember is one member of a refusal's details.
type DetailMember struct {
	Name string
	// Kind is string, integer or boolean.
	Kind string
	// Optional members may be absent or null.
	Optional bool
}

// Face looks a reason up. One that is not registered looks like INTERNAL, so that it says nothing.
func (r Reason) Face() Face {
	if f, ok := faces[r]; ok {
		return f
	}
	return faces[ReasonInternal]
}

// Known says whether the reason is registered.
func (r Reason) Known() bool {
	_, ok := faces[r]
	return ok
}
