// Package keys is the one table of key spaces, and the encoders from which
// every key is made.
//
// A key is: space byte, root id (4 bytes, big-endian), then the parts that the
// space's row in Table names, in that order. core/kv appends the revision
// itself; callers never see it in a key.
//
// Invariants:
//
//	KEY-1  A space id is never reused, also not after the space is gone.
//	KEY-2  The order of encoded keys, byte by byte, is the order of the tuples
//	       that they encode: numbers by value, text byte by byte, paths by
//	       component.
//	KEY-3  Every part is self-delimiting, so no key is a proper prefix of
//	       another key of its space, and what was encoded decodes to the same
//	       parts.
//	KEY-4  A decoder never panics and never reads past its input: malformed
//	       bytes give ErrMalformed.
//
// The package imports nothing of the module.
package keys
