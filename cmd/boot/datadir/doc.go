// Package datadir decides which process owns a data directory and tells the others how to reach it.
//
// Invariants, cited by number in the tests:
//
//  1. At most one process owns a directory. Ownership is an exclusive flock on DIR/owner.lock, so the kernel
//     gives it up when the process ends, however it ends. The file itself is never removed: removing it would
//     let two processes hold locks on two files of the same name.
//  2. DIR/endpoint, when it is there, was written whole (temporary file, sync, rename) with mode 0600.
//     It may be stale: a reader learns that from a refused dial, never from the file alone.
//  3. An owner listens on a Unix socket whose directory or mode admits its own user only. Permission to open
//     the socket is the only credential of the owner channel: there is no token that could leak, and no port
//     number that a stranger could take over after the owner has died.
//     Who dials makes sure of it: endpoint file and socket are no links, are private, and are this user's.
//  4. A process that does not own the directory never becomes its owner by reconnecting: Dial only dials.
package datadir
