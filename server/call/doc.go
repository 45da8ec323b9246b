// Package call is where all protocols meet: observe, recover, principal, deadline, built, invoke. It also decides what
// of an error may leave the process.
//
// Invariants, cited by number in the tests:
//
//  1. Every call that enters is counted exactly once, with its operation, its protocol and its outcome, whether it
//     succeeds, is refused, is malformed or panics.
//  2. Nothing uncoded leaves: whatever an operation returns or throws becomes a member of the registry, and what is
//     not registered becomes INTERNAL, logged with its cause and its request id and told to nobody.
//  3. Only details that the registry lists for the reason leave with it.
//  4. An operation runs with a principal and a deadline, and its context ends when the call does.
//  5. A successful call over an operation without a tracer and with debug logging off allocates one context and
//     nothing else here.
package call
