// Package jail decides which names a workbench accepts and how they look from
// outside: workbench ids, the five sections, relative paths, the presentation
// root and the order of paths. Everything here is a pure function of its
// arguments; nothing touches a store or a host file system.
//
// Invariants, cited in tests by number:
//
//	J1  A path that leaves this package has no empty, "." or ".." component, no
//	    backslash, no NUL, is valid UTF-8, and is at most MaxPathBytes bytes and
//	    MaxComponents components long, the section included.
//	J2  Split undoes Full: a full path whose first component names a section
//	    comes back as that section and the rest, any other as no section.
//	J3  Compare orders by component, byte by byte, with the separator below
//	    every byte; it is the order in which paths are stored and listed.
//	J4  Presentation paths are built from the root, the id and checked paths
//	    only, so they never leave the root.
//
// All functions are safe for concurrent use.
package jail
