// Package seal encrypts what must not be readable in a copy of the store, and
// keeps the key beside the store, never inside it.
//
// A sealed value is AES-256-GCM under the installation's key, bound to a
// context that the caller names (which record, which field). Moving the bytes
// to another record makes them unreadable.
//
// Invariants:
//
//	SEAL-1  The key is minted once, at the first start, from the system's random
//	        source, and is durable before the first value is sealed with it.
//	SEAL-2  The key's file can be read by its owner alone; Open refuses a file
//	        that others can read.
//	SEAL-3  A store that has seen a key opens with that key only: a lost or
//	        exchanged file is refused, and never replaced by a fresh key, which
//	        would make the sealed values unreadable for good.
//	SEAL-4  A sealed value opens only with the same key and the same context, and
//	        only if no bit of it changed.
//	SEAL-5  Neither the key nor a plaintext appears in an error, in a log or in
//	        the printed form of a Sealer.
//
// A key seals at most 2^32 values: nonces are random, and beyond that number a
// repeated one becomes likely enough to matter.
package seal
