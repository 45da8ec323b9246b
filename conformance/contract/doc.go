// Package contract is the specification as the judge reads it: straight from the sources in spec, never from
// the code that was generated from them, so that a mistake of the generator cannot hide itself.
//
// Invariants:
//
//	C1  Arguments are checked against the input schema itself, with numbers as they were written: 1.0 is not
//	    an integer.
//	C2  Settle gives one form to results of wires on which null and absent are the same, and changes nothing
//	    in a result that has its nulls.
//	C3  An answer over HTTP is right only if the OpenAPI document lists its status for that operation, and its
//	    media type and body fit.
package contract
