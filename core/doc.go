// Package core is what the gateway means, without any protocol: it opens a data
// directory and answers the operations of gen/op on it.
//
// Invariants, cited in tests:
//
//	CORE-1  What a method answered is durable: it holds after a crash at any
//	        later moment, and nothing half done is visible after one.
//	CORE-2  The presentation root and the cursor key of a data directory are
//	        those of its first opening.
//	CORE-3  Nothing that API answers, errors included, names the data directory.
package core
