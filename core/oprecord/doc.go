// Package oprecord remembers what was answered to operations that have an
// identity, so that asking again gives the first answer and does nothing.
//
// The record is written by the Update that does the work: either both are
// durable, or neither is. It is kept for good; an exact retry finds it whatever
// has happened since.
//
// Invariants:
//
//	OPR-1  For one kind and key in a root there is at most one record, and its
//	       answer never changes.
//	OPR-2  The same key with another fingerprint is a conflict, never a replay.
//	OPR-3  An answer is small: it refers to bodies and never contains them.
package oprecord
