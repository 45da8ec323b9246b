// Package canon gives every JSON value one spelling, and every spelling one
// digest.
//
// Identities (of commits, manifests, requests) are hashes over JSON that
// clients wrote by hand or by machine. Two texts of the same value must give
// the same hash, whatever order, spacing, escapes or number spelling they used,
// and a value must come back with the digits that the client sent. So canon
// works on JSON text, never on decoded Go values: a float64 in the middle would
// already have lost 9007199254740993.
//
// Invariants:
//
//	CAN-1  One spelling. Compact; members sorted by the UTF-8 bytes of their decoded
//	       names at every depth (not by UTF-16 units, as RFC 8785 does); arrays keep
//	       their order; strings are raw UTF-8 and escape only what JSON forbids to
//	       stand bare.
//	CAN-2  Fixed point. The canonical text is its own canonical text.
//	CAN-3  Exact integers. An integer literal that fits int64 or uint64 keeps its
//	       decimal digits; a larger one is a float; "-0" is the float -0.0.
//	CAN-4  Shortest floats. A float is parsed with correct rounding and printed with
//	       the fewest digits that parse back to it; it always shows that it is a
//	       float (a point or an exponent).
//	CAN-5  Refusals name a rule and an offset: bad syntax, bad UTF-8 (lone surrogate
//	       escapes too), more than MaxDepth open brackets, a float beyond the range of
//	       float64, bytes after the value. The strict variant also refuses a repeated
//	       member name; the other keeps the last.
//	CAN-6  A refusal leaves dst as it was, apart from bytes beyond its length.
//
// The package is a leaf: standard library only, no reflection, safe for
// concurrent use.
package canon
