// Package history judges what many clients at once were told: there is one order of their calls that explains every
// answer, or there is none and the server is wrong. It knows the contract as a function over the state of a few
// workbenches, with the formulas of identities, envelopes and tree digests computed anew, and no protocol: whoever runs
// it says how a call is carried.
//
// Invariants:
//
//	H1  The model is strict: every member of an answer that follows from the state is computed and compared. What a
//	    server is free to choose (the operation id of a restore) is taken from the first answer
//	    that shows it, and holds from then on.
//	H2  A call takes effect at one instant between its beginning and its end. A commit has two: one freezes the files
//	    and says what the commit stands on, the other publishes, and only when the workbench still stands on that.
//	H3  A history is judged by families: a workbench and all that is restored from it, in one piece. What one family is
//	    told says nothing of another.
//	H4  Given a seed, every client asks the same things in the same order.
package history
