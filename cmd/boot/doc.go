// Package boot is the one place where core, server and the outside world are wired: data directory, listeners,
// telemetry, signals.
//
// Invariants, cited by number in the tests:
//
//  1. A process either owns its data directory and serves it to others, or works through the owner; it never changes
//     from the one to the other.
//  2. Standard output carries what the command was asked for, and nothing else; logs go to standard error.
//  3. The store is closed before the directory is given up.
package boot
