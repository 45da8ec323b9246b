// Package driver speaks the protocols that a server under judgement offers, one driver each. A driver sends an
// operation as its protocol carries it, gives back one neutral Answer, and reports everything in the raw answer
// that the protocol's own specification does not allow.
//
// Invariants:
//
//	D1  A driver shares no code with the server: it knows the contract and the protocol, and generated code only
//	    for the descriptors of protobuf messages.
//	D2  An Answer has the same form on every protocol; what a protocol cannot say (null, free JSON numbers) is
//	    restored through the schema of the result and nothing else.
//	D3  A breach of the protocol's own rules never becomes part of an Answer; it is listed in Breaches.
//	D4  ErrInexpressible is given only when the protocol's encoding has no way to say the value.
//	D5  A driver is used by one goroutine at a time, and keeps its connection for its whole life, so that a call
//	    that follows a malformed one shows whether the connection survived.
package driver
