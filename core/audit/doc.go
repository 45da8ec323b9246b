// Package audit remembers who changed what. A record is part of the Update that
// makes the change.
//
// Invariants:
//
//	AUD-1  A record exists exactly when the change that it tells of does.
//	AUD-2  Records of a root are in the order of the changes; they are never
//	       changed.
package audit
