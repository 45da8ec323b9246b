// Package operator is the meaning of the read-only operator API: what an
// operator's console asks of a running process. It holds no store and reads no
// file.
//
// Invariants, cited in tests:
//
//	OP-1  An answer never names the data directory or any other path of the
//	      machine.
//	OP-2  What cannot be known is said to be unknown; nothing is made up.
package operator
