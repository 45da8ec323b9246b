// Package workbench is the meaning of the Workbench tools: named, versioned
// file spaces over core/kv and core/blob. It implements op.Workbench and
// op.Files and knows no protocol.
//
// A workbench id is named by a marker, which says which incarnation the id
// means. All other rows are keyed by the incarnation: one head with the content
// revision, one record per file, and for each file one row in each of four
// indexes and one more for each of its custom fields. Directories have no rows; they exist through the files below them.
//
// Invariants, cited in tests and verified by Check where they speak of what is
// stored:
//
//	WB-1  Whatever is acknowledged is durable, and one call is one update:
//	      marker, head, record and index rows of a publication appear together
//	      or not at all.
//	WB-2  A marker, once there, names the same incarnation for ever, and that
//	      incarnation has a head. Rows of an incarnation that no marker names
//	      are invisible to every tool.
//	WB-3  The generation of a path is 1 at its first publication and one more at
//	      each later one. A refused call, an edit that changes nothing and a
//	      change of custom fields leave it alone.
//	WB-4  The content revision of a head is the root's revision of the last
//	      publication in that workbench, or of the last change of a file's custom
//	      fields. No record of the workbench is newer.
//	WB-5  A record's digest is the SHA-256 of exactly the bytes that its body
//	      gives back, and its length is their number.
//	WB-6  For each record of a workbench there is exactly one row in each index,
//	      with the record's value, one for each of its custom fields, and no index
//	      row is without its record.
//	WB-7  A list cursor continues only the listing that it came from: same
//	      store, workbench, directory and selector (else it is refused), same
//	      incarnation and content revision (else the fence has changed). One that
//	      came from a snapshot goes on in that snapshot.
//	WB-8  A listing costs what its page holds: it seeks past everything below a
//	      subdirectory, and never looks at what comes before its cursor.
//	WB-9  No View is open while bytes go to or come from a caller: a read
//	      resolves and pins, closes the View, then streams.
//	WB-10 Nothing that leaves the package names the data directory.
//	WB-11 Ids of snapshots count from 1 in each root, in the order of minting, and
//	      none is given twice. As long as a snapshot can be read, it shows the
//	      workbench's files at the revision that minted it.
//	WB-12 An active snapshot has one hold, which is on its workbench's path records
//	      at its revision. A retired or reaped one has none, and no hold of this
//	      kind is without its snapshot.
//	WB-13 A name means the newest snapshot that was minted with it, whatever has
//	      become of that one.
//	WB-14 A snapshot with a consumer is active. An active one without has a timer
//	      that ends it, and one that has ended has none.
//	WB-15 Where a snapshot is in its life depends on the clock alone: alive before
//	      its deadline, then expired as long as the grace lasts or somebody consumes
//	      it, then reaped. That the background comes later shows in no answer.
//	WB-16 A published commit is kept for ever, and its identity follows from what
//	      its caller said: an equal request gets the first answer, whatever happened
//	      since, and moves nothing. The same identity under another replace bit or
//	      presentation path is refused.
//	WB-17 The commit head names a commit, and the run manifest is that commit's: its
//	      bytes, size, type and generation. A manifest of which this does not hold is
//	      not read; at a snapshot the head is the one on which it was taken, and for a
//	      crawl beyond the history window the commit that the manifest's bytes name.
//	WB-18 Manifest, head and commit change in one revision, and only when head and
//	      manifest are those that the commit was prepared on; the loser leaves
//	      nothing but its refusal. The files of a commit are those of the revision
//	      that its preparation froze, and stay readable: it has one hold, on its
//	      workbench's path records at that revision, and no hold of this kind is
//	      without its commit.
//	WB-19 A commit that was asked for is durable before its envelope is made, and
//	      comes to an end: published or given up, by its caller's process or the
//	      next. Until then its envelope is at no path. Only it and a restore write
//	      the two manifests.
//	WB-20 Time and content of an envelope are those of the first request. What goes
//	      on after a crash is made from what is stored, and published only if the
//	      digest of all its parts is the first request's.
//	WB-23 All of one query's answer, counts and facets too, is of one revision, and
//	      every page of a search is of the first one's. No View of a query lasts
//	      longer than some thousands of keys.
//	WB-24 A query finds the files that a reading of all records of its scope would
//	      find, whichever index it goes by: index rows only name candidates, and
//	      each one's marker and record are looked at.
//	WB-25 A query looks at no more than a constant times the candidates of its
//	      most selective index, or a constant times its scope, whichever is less.
//	      All predicates on a field narrow its candidates together, and those on
//	      path and workbench_id narrow the scope.
//	WB-26 What a query keeps is bounded by its page, and by the distinct values of
//	      facets and groups; more of those than the limit are refused.
//	WB-27 A crawl hold has one hold, on its revision and its prefix, and a timer
//	      that releases it when the crawls are over; no hold of this kind is
//	      without its crawl hold. A root has a bounded number of them.
//	WB-28 All pages of a crawl show the revision that its first page found, or the
//	      crawl ends with an error.
//	WB-29 A crawl's cursor continues only the request that it came from, on the
//	      server that made it.
//	WB-30 A restore makes a workbench that was not there, whole and in one revision:
//	      marker, head, manifests, commit and provenance. Of several into one id one
//	      wins. An equal request gets the first answer, whatever has become of the
//	      source; a restore changes nothing of the source.
//	WB-31 The incarnation of a restored workbench follows from root, source and
//	      destination. One restore at most builds a workbench of an id, and none
//	      when there is one.
//	WB-32 What a restore has copied is below an incarnation that no marker names.
//	      How far it has come is stored with the rows, so that none is copied twice.
//	      The record of a file is copied as it is, with its body by reference.
//	WB-33 A restore that was asked for is durable before it copies, and comes to an
//	      end: published, or given up and cleared away. Until then it keeps what it
//	      reads, and it lets go of it once.
//	WB-34 Provenance says where a workbench was restored from, and binds its restore
//	      manifest by digest, size and type.
//	WB-35 What goes on after a crash, and what is published, is what was asked for
//	      first: full identity and initialization are compared, never the short
//	      operation id alone.
//
//	WB-36 A bounded number of calls of grep runs at one time, of find, and of
//	      search, aggregate and catalog together; a bounded number waits, and gives
//	      up with its caller. Others are refused at once. A call of grep ends its
//	      page after a bounded time, inside of a file too.
//	WB-37 A list of snapshots has a bounded size, whatever was minted: it holds the
//	      newest that are not over, and then the newest that are.
//	WB-38 A page of a listing at a snapshot that is shown again is what it was, at
//	      the snapshot only, and only as long as the snapshot can be read.
//	WB-39 A search keeps its matches of many pages, in bounded memory for all
//	      searches, and looks for them again when they are gone or used up. No
//	      answer depends on it.
//
// A Workbench is safe for concurrent use.
package workbench
