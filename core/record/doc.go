// Package record defines the values at rest: small hand-written binary formats,
// one Append and one Decode function each.
//
// The first byte of a value is the version of its record. Integers are
// varints, byte strings carry their length, instants are Unix milliseconds.
//
// Invariants:
//
//	REC-1  Bytes once written decode forever: a changed record gets a new
//	       version byte, and the decoder keeps the old ones. The goldens under
//	       testdata hold one file per record and version and are never edited.
//	REC-2  A decoder never panics and never allocates more than its input is
//	       long: malformed bytes give ErrMalformed, an unknown version ErrVersion.
//	REC-3  A record has one encoding: what decodes encodes to the same bytes.
//	REC-4  The package imports neither gen nor any other package of core: what
//	       lies on disk does not change when the wire does.
//
// A slice in a decoded record aliases the input unless its field says
// otherwise; a string is a copy.
package record
