// Package jobs is the meaning of the SDK lifecycle: what a client may ask of
// this server before it submits anything.
//
// Invariants, cited in tests:
//
//	JOB-1  Capabilities are worked out on every call and promise nothing that
//	       is not there: a part that is not served is unavailable, and a limit
//	       of a feature that is not offered is zero.
//	JOB-2  While the lifecycle is switched off, every operation of it is refused
//	       with one reason, whatever it was asked.
package jobs
