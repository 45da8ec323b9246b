// Package value is the judge's own idea of a JSON value: how one is read, written in one canonical form,
// and compared with what a scenario expects.
//
// A value is nil, bool, string, Number, []any or map[string]any. A Number keeps the literal that was on the
// wire, so that 9007199254740993, 1e-7 and 100.0 stay what they were: two numbers are equal when their
// literals are.
//
// Invariants:
//
//	V1  Decode accepts exactly one value and refuses duplicate members, bytes that are not UTF-8, lone
//	    surrogates and anything after the value.
//	V2  Encode(Decode(b)) is the same text for every spelling of one value that differs only in space,
//	    member order and string escapes.
//	V3  A pattern without matchers accepts exactly one value: objects are closed and arrays are ordered.
//	V4  A value that a template inserts is data; it is never read as a matcher or as another template.
package value
