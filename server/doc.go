// Package server puts all protocols on one port, behind one door.
//
// Invariants, cited by number in the tests:
//
//  1. A request whose Host names another place than this server, or that a page of another origin made, is refused
//     before anything else looks at it, on every protocol.
//  2. Every answer carries X-Request-Id; the log finds the call by it.
//  3. A panic anywhere ends its own request and nothing else.
//  4. Serve returns after what was begun has been answered, or DrainTimeout has passed; streams and WebSockets are
//     closed with a reason.
package server
