// Package kv is the storage engine: updates in one order, durable before
// visible, with versions that can be gone back to. It is the only package that
// imports Pebble, and nothing above it may rely on Pebble.
//
// A Store has roots; each root counts its own revisions. Update runs a closure
// in its turn and returns when what the closure saw and wrote is durable. View
// reads a root at its durable watermark, ViewAt at an earlier revision.
//
// Invariants; tests and Check cite them by number:
//
//	KV-0   The store can be read: no row gives an error.
//	KV-1   Root ids are dense from 1, and each root has one head row.
//	KV-2   No version in a root has a revision above its head; the versions of a
//	       key lie newest first, each revision once.
//	KV-3   Whatever Update answers, success, refusal or no change, leaves only
//	       when the last update that its closure can have seen is durable.
//	KV-4   A View shows one revision, which was durable when the View was
//	       opened, and everything acknowledged before that.
//	KV-5   Closures run one at a time in the order of arrival; one that fails or
//	       panics, or whose caller has left before its turn, leaves no trace.
//	KV-6   Every row is of a space in core/keys' table, versioned exactly when
//	       the table says so, and its key and value decode.
//	KV-7   A version that is not the newest, and every deletion, is listed once:
//	       in the root's reaper queue or in that of a hold. Nothing else is.
//	KV-8   The floor is durable before anything below it is dropped, and never
//	       above the head.
//	KV-9   What is visible at a held revision stays; of a hold within a prefix,
//	       the rows whose keys begin with it. A hold is at or below the head, and
//	       its id is never minted twice.
//	KV-10  Instants told to updates never run backwards, over restarts either.
//	KV-11  When the log fails, the process ends; no answer claims more than the
//	       log holds.
//	KV-12  Below the floor of free disk space updates are refused, before the
//	       log is touched; reads go on, over a restart too, and whatever is free.
package kv
