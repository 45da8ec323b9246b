// Package actor names the one on whose behalf a call runs.
//
// Invariants:
//
//	ACT-1  A call that reaches an area package carries exactly one Principal.
//	ACT-2  A Principal never changes after With has put it into a context.
package actor
