// Package blob keeps bodies: byte strings of any length that versioned rows
// refer to.
//
// # Model
//
// A body is a record.Body inside somebody's row. Its last bytes, up to
// TailLimit, are in the record itself (the tail); the bytes before them are in
// extent lists. A small body is only a tail: it costs no row and no file. An
// append makes the tail longer; a tail that has become too long moves into an
// extent of its own, so that the record never grows and an append costs the same
// whatever lies before it.
//
//	record.Body   [ span of list A | span of list B | tail ]
//	list A        extent, extent, extent…          each: bytes in a row (≤ 64 KiB)
//	list B        extent, extent…                        or one segment file
//	segment file  (chunk ≤ 64 KiB, CRC-32C)*
//
// Versions of one body share a list: each sees the list up to its own end. When
// two branches go on from one end (a restored copy, an append after going back),
// the first one extends the list and the second one begins a list of its own, a
// fork; a body goes through at most MaxSpans lists, and one that would need more
// is copied into a single list by Prepare first.
//
// A record carries the SHA-256 of the body and, where its lists end, a hash
// state that can go on; so the digest after an append costs the appended bytes
// only.
//
// # Life of a file
//
//	Create, Write   staging row durable → file created and written
//	Seal            file synced, directory synced
//	Publish/Append  one Update: staging row required and deleted; extent, segment
//	                row and the caller's row written
//	reaping         core/kv drops the last version that refers to the extents
//	collector       one Update: extents and segment row deleted, loose file noted;
//	                then the file is removed, the directory synced, the note deleted
//
// # Invariants
//
//	BLOB-1  What a body's record says is what its readers get: its length, its
//	        bytes and their digest. Every chunk that is read has its CRC-32C
//	        checked before a byte of it is handed on, and a read of the whole body
//	        checks the SHA-256 too.
//	BLOB-2  The extents of a list follow each other without a gap from the list's
//	        start, and none crosses the end of a body that refers to the list.
//	BLOB-3  An append writes a number of bytes and rows that depends on the
//	        appended bytes only, and reads nothing of the body before them.
//	BLOB-4  Memory for a body in flight is bounded, whatever its length.
//	BLOB-5  A reference is a row: it exists exactly as long as the version of the
//	        row that embeds the body. Extents beyond the last reference of their
//	        list are in the queue of loose lists.
//	BLOB-6  Every file has exactly one row: staging before it is published, segment
//	        while it is, loose after. The row is durable before the file is
//	        created and deleted after its removal is durable.
//	BLOB-7  A file is removed only when the update that dropped its last reference
//	        is durable and no upload, open body, older View or freeze can still
//	        reach it.
//	BLOB-8  No file is written, read or synced inside an Update.
package blob
