// Package scenario reads the conformance format: one txtar file tells one story in numbered steps that name
// operations and no protocol, unless a protocol is the subject; or it is a table of malformed inputs.
//
// What a file may not be is decided when it is loaded, so that nothing that runs can be misunderstood. Every
// refusal is file:line: reason.
//
// Invariants:
//
//	S1  A section that is not part of the format is refused, and so is one that appears twice.
//	S2  Steps count 1, 2, 3 …; each begins with what is done and goes on with what is expected of it.
//	S3  The arguments of a call satisfy the operation's schema; those of a bad step violate it.
//	S4  What is saved is used later; what is used was saved before.
//	S5  Every requirement, operation, reason and protocol that a file names exists.
//	S6  A file that moves the clock or cuts the power says so in its header.
package scenario
