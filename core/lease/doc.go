// Package lease lets one of several holders act under a name for a while, and
// keeps a holder that has lost its lease from doing damage.
//
// A lease ends by itself when its time is over, but its holder may not notice:
// it may sleep, or be cut off. So each lease carries a fence, a number that goes
// up whenever the name changes hands, and every Update that acts under a lease
// calls Check with its fence: a lapsed holder's Update fails.
//
// Invariants:
//
//	LEA-1  The fence of a name only grows, over restarts and crashes too. No two
//	       holders ever have the same one.
//	LEA-2  At one revision a name has at most one holder, and Check succeeds for
//	       its fence alone.
//	LEA-3  Time is Tx.Now, which never runs backwards: a lease that was over once
//	       is over for good.
package lease
