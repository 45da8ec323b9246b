// Package fault is the one error that crosses an area's boundary: a reason from
// the closed registry, a public sentence, typed details and a private cause.
//
// Invariants:
//
//	FLT-1  Message and Details are public; Cause never reaches them.
//	FLT-2  Whatever carries no reason is INTERNAL, and its text stays private.
//	FLT-3  A detail's value is a string, an int64, a bool or nil.
package fault
