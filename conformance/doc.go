// Package conformance judges a running server by the contract alone: scenarios that name operations and no
// protocol are played over every protocol that carries them, and every raw answer is held against that
// protocol's own specification.
//
// The package imports the specification, generated protobuf descriptors and client libraries; of the product it
// imports nothing, so that judge and judged share no mistakes. Its tests wire a server in memory.
//
// Invariants:
//
//	J1  A run that plays nothing has failed.
//	J2  Every requirement marked as built is covered by a scenario or listed in uncovered.txt, and no line of that
//	    list is covered.
//	J3  A line of known_failing.txt that matches no failure is itself a failure.
//	J4  What a protocol cannot say is counted, never passed over in silence; so is what a target cannot do.
//	J5  After each scenario the target's own check of its store must find nothing.
//	J6  With the same start, the canonical transcripts of all protocols are the same bytes.
package conformance
