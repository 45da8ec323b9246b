// Package body reads and writes HTTP bodies within bounds: of size, of memory over all requests, and of patience.
//
// Invariants, cited by number in the tests:
//
//  1. No more than the given number of bytes is read of a body; one byte more is a refusal.
//  2. The bodies held at one time never exceed the budget, small ones aside: what does not fit is refused at once with
//     a retryable reason, and nothing waits for memory.
//  3. A peer that stops sending or receiving is given up after Patience, however large the body is; one that keeps
//     moving is not.
package body
