// Package shape turns the body of an artifact into the records that a
// structured read pages through: the elements of a JSON document, the lines of
// a JSON Lines file, a YAML document, or plain lines of text.
//
// Invariants, cited in tests by number:
//
//	S1  The records of a body, and whether it decodes at all, do not depend on
//	    the page asked for: pages put together are the whole.
//	S2  Every item is one compact JSON value without duplicate names, at most
//	    MaxDepth deep, whose numbers are spelled as the body spells them and
//	    do not exceed a double; a body with one that does is refused.
//	S3  Joining the lines of a text with LF, plus a final LF when the text had
//	    one, gives the text back, up to the CR that was dropped before an LF.
//	S4  Work and memory are linear in the body: aliases in YAML cannot expand
//	    beyond a fixed multiple of it.
//
// All functions are pure and safe for concurrent use.
package shape
