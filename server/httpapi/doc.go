// Package httpapi serves the operations over plain HTTP: JSON calls, and the raw bodies of files.
//
// Invariants, cited by number in the tests:
//
//  1. Every answer under a path of an area is in that area's words, the 404s and 405s too.
//  2. A request body is read by its operation's one strict decoder and by nothing before it.
//  3. A file path is split first and decoded once, component by component; a component that then names another place is
//     refused before the core sees it.
//  4. Raw bodies are never whole in memory, and nothing is stored of a body that did not arrive as announced.
//  5. A PUT creates or replaces, as the client said, and never does the other thing.
package httpapi
