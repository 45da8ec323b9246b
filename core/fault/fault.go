package fault

import (
	"context"
	"errors"
	"fmt"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Error is an error with a reason. It is built once, by New and the methods
// below, and not changed after it was returned.
type Error struct {
	// Reason is a member of the registry.
	Reason op.Reason
	// Message is the public sentence. It holds no path of this machine, no type
	// name and no text of Cause.
	Message string
	// Details are public members, in the order in which they were added.
	Details []Detail
	// Cause is for the log only; nil when there is none.
	Cause error
}

// Detail is one public member of an error.
type Detail struct {
	Key string
	// Value is a string, an int64, a bool or nil (FLT-3).
	Value any
}

// New returns an error with a reason. An empty msg means the registry's own
// sentence.
func New(reason op.Reason, msg string) *Error {
	if msg == "" {
		msg = reason.Face().Text
	}
	return &Error{Reason: reason, Message: msg}
}

// Newf is New with a formatted message. The arguments become public.
func Newf(reason op.Reason, format string, args ...any) *Error {
	return New(reason, fmt.Sprintf(format, args...))
}

// With adds a public detail and returns e. Integers of any size become int64;
// a value of another kind than FLT-3 allows is a mistake in the program and
// panics.
func (e *Error) With(key string, value any) *Error {
	switch v := value.(type) {
	case nil, string, bool, int64:
	case int:
		value = int64(v)
	case int32:
		value = int64(v)
	case uint32:
		value = int64(v)
	case uint64:
		value = int64(v)
	default:
		panic(fmt.Sprintf("fault: detail %q has a value of type %T", key, value))
	}
	e.Details = append(e.Details, Detail{Key: key, Value: value})
	return e
}

// Because sets the private cause and returns e.
func (e *Error) Because(err error) *Error {
	e.Cause = err
	return e
}

// Detail returns the value of a detail, and whether it is there.
func (e *Error) Detail(key string) (any, bool) {
	for _, d := range e.Details {
		if d.Key == key {
			return d.Value, true
		}
	}
	return nil, false
}

// Error returns reason and public message. It never prints the cause (FLT-1).
func (e *Error) Error() string { return string(e.Reason) + ": " + e.Message }

// Unwrap returns the private cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// From turns any error into one with a reason: an *Error anywhere in the chain
// is returned as it is; the errors of a context become CANCELLED and
// DEADLINE_EXCEEDED; anything else becomes INTERNAL with err as its private
// cause (FLT-2). From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return New(op.ReasonCancelled, "").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return New(op.ReasonDeadlineExceeded, "").Because(err)
	default:
		return New(op.ReasonInternal, "").Because(err)
	}
}

// Is reports whether err carries the reason.
func Is(err error, reason op.Reason) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == reason
}
