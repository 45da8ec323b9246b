// Package backup copies a data directory while it is in use, and makes a data
// directory of a copy.
//
// A destination directory holds any number of backups, each a directory of its
// own, complete by itself:
//
//	DEST/backup-20261201T093000.000Z/
//	    backup.json   what is in it: every file with its length and SHA-256
//	    kv/…          the store's files at one moment
//	    bodies/…      the segment files of that moment
//
// A file that an earlier backup in the same destination holds with the same name
// and the same bytes is linked, not copied: a further backup takes the room of
// what is new.
//
// Invariants, cited in tests:
//
//	BAK-1  A backup shows one moment: everything that was acknowledged before Write
//	       was called, and of every later update all or nothing.
//	BAK-2  A backup has its name only when all of it is durable. One that failed or
//	       was cut off leaves no backup, and its remains go with the next Write.
//	BAK-3  Writing one needs no pause: updates, uploads and readers go on.
//	BAK-4  Restore gives a directory with exactly the bytes that backup.json names,
//	       or an error and no store. A directory that a restore was cut off in
//	       cannot be opened.
//	BAK-5  Neither touches what it was not told to: Write leaves finished backups
//	       as they are, Restore takes no directory that holds something else.
package backup
