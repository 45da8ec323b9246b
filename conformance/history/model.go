package history

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// file is one file of the model.
type file struct {
	generation, size    int64
	digest, contentType string
	text                string // of a text file
}

func textFile(generation int64, text string) file {
	return file{generation, int64(len(text)), uri(text), textType, text}
}

// commit is a published commit: its first answer, and what it froze.
type commit struct {
	first    Answer
	replace  bool
	manifest string
	content  string
	files    map[string]file // without the two manifests
	restored bool            // a restore made it
	to       int64           // when the call that published it had ended
}

// origin is where a workbench was restored from.
type origin struct {
	call      Call
	operation string
}

// bench is one workbench. It is never changed once it is in a state.
type bench struct {
	files   map[string]file
	head    *commit
	commits map[string]*commit
	origin  *origin
}

// begun is a commit between its two instants (H2).
type begun struct {
	id, identity string
	head         *commit // what it stands on, or nil
	next         *commit
}

// state is a family. It is never changed: a step makes another.
type state struct {
	benches map[string]*bench
	begun   map[int]*begun
	seen    map[place]int // how many observers of each file's present generation have been explained
	sum     [4]uint64
}

// add puts something into the sum or takes it out.
func (s *state) add(text string) {
	h := sha256.Sum256([]byte(text))
	for i := range s.sum {
		s.sum[i] ^= binary.LittleEndian.Uint64(h[8*i:])
	}
}

func (b *bench) text(id string) string {
	if b == nil {
		return ""
	}
	var t strings.Builder
	fmt.Fprintf(&t, "bench %s\n%s", id, b.look())
	for _, name := range slices.Sorted(maps.Keys(b.commits)) {
		c := b.commits[name]
		fmt.Fprintln(&t, name, c.replace, c.first.Generation, c.first.Tree, c == b.head)
	}
	if b.origin != nil {
		fmt.Fprintln(&t, b.origin.operation)
	}
	return t.String()
}

// look renders all files.
func (b *bench) look() string {
	var t strings.Builder
	if b != nil {
		for _, path := range sorted(b.files) {
			fmt.Fprintf(&t, "%s %d %s\n", path, b.files[path].generation, b.files[path].digest)
		}
	}
	return t.String()
}

func (s *state) clone() *state {
	next := *s
	return &next
}

// with is the state with a workbench changed; change gets a copy of its own.
func (s *state) with(id string, change func(b *bench)) *state {
	next := s.clone()
	next.benches = maps.Clone(s.benches)
	b := &bench{files: map[string]file{}, commits: map[string]*commit{}}
	if old := s.benches[id]; old != nil {
		*b = *old
		b.files = maps.Clone(old.files)
		next.add(old.text(id))
	}
	change(b)
	next.benches[id] = b
	next.add(b.text(id))
	return next
}

func (s *state) withFile(id, path string, f file) *state {
	return s.with(id, func(b *bench) { b.files[path] = f })
}

// event is one step of a call.
type event struct {
	Call
	number   int // of the call in the history
	phase    int // 0 for a call with one step, else 1 and 2
	from, to int64
	rival    bool // another call that was under way explains a refusal
}

// step is the contract as a function: the state after an event that was answered so, or nil when the state explains
// no such answer.
func (w Work) step(s *state, e event, a Answer) *state {
	b := s.benches[e.ID]
	switch e.Verb {
	case "put", "replace", "append", "edit", "read":
		return w.stepFile(s, b, e, a)
	case "look":
		return unless(a == Answer{Text: b.look()}, s)
	case "head":
		if b == nil || b.head == nil {
			return unless(a == Answer{Code: "NotFound"}, s)
		}
		return unless(a == Answer{Generation: b.files[runManifest].generation, Identity: b.head.first.Identity}, s)
	case "commit":
		return w.stepCommit(s, b, e, a)
	default:
		return w.stepRestore(s, b, e, a)
	}
}

// unless is s when ok.
func unless(ok bool, s *state) *state {
	if ok {
		return s
	}
	return nil
}

func (w Work) stepFile(s *state, b *bench, e event, a Answer) *state {
	path := "outputs/" + e.Path
	var old file
	if b != nil {
		old = b.files[path]
	}
	next := textFile(old.generation+1, e.A)
	switch e.Verb {
	case "put":
		if old.generation > 0 {
			return unless(a == Answer{Code: "AlreadyExists", Generation: old.generation, Digest: old.digest}, s)
		}
		return unless(a == Answer{Generation: 1, Size: next.size, Digest: next.digest}, s.withFile(e.ID, path, next))
	case "append":
		next = textFile(old.generation+1, old.text+e.A)
		return unless(a == Answer{Generation: next.generation, Size: next.size, Flag: old.generation == 0}, s.withFile(e.ID, path, next))
	}
	if old.generation == 0 {
		return unless(a == Answer{Code: "NotFound"}, s)
	}
	switch e.Verb {
	case "replace":
		return unless(a == Answer{Generation: next.generation, Size: next.size, Digest: next.digest}, s.withFile(e.ID, path, next))
	case "edit":
		n := strings.Count(old.text, e.A)
		if n == 0 {
			return unless(a == Answer{Code: "NoMatch"}, s)
		}
		if e.A == e.B {
			return unless(a == Answer{Generation: old.generation, Size: old.size, Count: int64(n), Flag: true}, s)
		}
		next = textFile(old.generation+1, strings.ReplaceAll(old.text, e.A, e.B))
		return unless(a == Answer{Generation: next.generation, Size: next.size, Count: int64(n)}, s.withFile(e.ID, path, next))
	}
	return unless(a == Answer{Generation: old.generation, Text: old.text}, s)
}

// stepCommit: a replay and a refusal have one instant, a commit two (H2).
func (w Work) stepCommit(s *state, b *bench, e event, a Answer) *state {
	identity := w.Identity(e.Call)
	var done *commit
	if b != nil {
		done = b.commits[identity]
	}
	switch {
	case e.phase == 1:
		return w.beginCommit(s, b, e, a, identity, done)
	case e.phase == 2:
		return w.endCommit(s, b, e, a)
	case a.Code == "InvalidState":
		return unless(done != nil && a == Answer{Code: a.Code} && (done.restored || done.replace != e.Replace), s)
	case a.Code != "":
		// Either replace was not said, or the head is one that came while the call was under way.
		return unless(a == Answer{Code: "WorkbenchCommitConflict"} && done == nil && b != nil && b.head != nil && (!e.Replace || b.head.to >= e.from), s)
	}
	if done == nil || done.restored || done.replace != e.Replace {
		return nil
	}
	want := done.first
	want.Flag = true
	return unless(a == want, s)
}

func (w Work) beginCommit(s *state, b *bench, e event, a Answer, identity string, done *commit) *state {
	if done != nil {
		return nil // it would have been answered with what is stored
	}
	at := &begun{id: e.ID, identity: identity}
	files := map[string]file{}
	if b != nil {
		at.head, files = b.head, maps.Clone(b.files)
	}
	manifest := manifestOf(e.A)
	envelope := w.envelopeOf(e.ID, identity, content, manifest)
	files[runManifest] = file{files[runManifest].generation + 1, int64(len(envelope)), uri(envelope), jsonType, ""}
	first := Answer{Generation: 1, Size: int64(len(envelope)), Digest: uri(envelope), Identity: identity, Tree: treeOf(files)}
	if at.head != nil {
		first.Generation = at.head.first.Generation + 1
	}
	if a != first || at.head != nil && !e.Replace {
		return nil
	}
	at.next = &commit{first: first, replace: e.Replace, manifest: manifest, content: content, files: ordinary(files), to: e.to}
	next := s.clone()
	if b == nil {
		next = s.with(e.ID, func(*bench) {})
	}
	next.begun = maps.Clone(next.begun)
	next.begun[e.number] = at
	next.add(at.text(e.number))
	return next
}

func (w Work) endCommit(s *state, b *bench, e event, a Answer) *state {
	at := s.begun[e.number]
	if at == nil || b.head != at.head {
		return nil
	}
	next := s.with(e.ID, func(b *bench) {
		b.files[runManifest] = file{b.files[runManifest].generation + 1, a.Size, a.Digest, jsonType, ""}
		b.commits = maps.Clone(b.commits)
		b.commits[at.identity] = at.next
		b.head = at.next
	})
	next.begun = maps.Clone(next.begun)
	delete(next.begun, e.number)
	next.add(at.text(e.number))
	return next
}

func (at *begun) text(number int) string {
	return fmt.Sprint("begun ", number, at.id, at.next.first.Generation, at.next.first.Tree)
}

// ordinary is files without the two manifests.
func ordinary(files map[string]file) map[string]file {
	files = maps.Clone(files)
	delete(files, runManifest)
	delete(files, restoreManifest)
	return files
}

func (w Work) stepRestore(s *state, source *bench, e event, a Answer) *state {
	if there := s.benches[e.Destination]; there != nil {
		if there.origin == nil || !asks(e.Call, there.origin.call) {
			return unless(a == Answer{Code: "Conflict"}, s)
		}
		return unless(a == Answer{Operation: there.origin.operation, Flag: true}, s)
	}
	if a.Code == "AlreadyExists" || a.Code == "Conflict" {
		return unless(e.rival && a == Answer{Code: a.Code}, s)
	}
	var base *commit
	if source != nil {
		base = source.commits[e.Commit]
	}
	if base == nil {
		// The commit may be under way, which is told.
		return unless(a == Answer{Code: "NotFound"} || e.rival && a == Answer{Code: "InvalidState"}, s)
	}
	if a.Operation == "" || a != (Answer{Operation: a.Operation}) {
		return nil
	}
	return s.with(e.Destination, func(b *bench) {
		identity := identityOf(e.Destination, base.content, uri(base.manifest))
		envelope := w.envelopeOf(e.Destination, identity, base.content, base.manifest)
		own := w.restoreManifestOf(e.Call, a.Operation)
		b.files = maps.Clone(base.files)
		b.files[restoreManifest] = file{1, int64(len(own)), uri(own), jsonType, ""}
		b.files[runManifest] = file{1, int64(len(envelope)), uri(envelope), jsonType, ""}
		b.head = &commit{first: Answer{Generation: 1, Identity: identity, Tree: treeOf(b.files)}, manifest: base.manifest, content: base.content, files: base.files, restored: true, to: e.to}
		b.commits = map[string]*commit{identity: b.head}
		b.origin = &origin{e.Call, a.Operation}
	})
}

// asks reports whether one restore asks for what another has made.
func asks(one, other Call) bool {
	return one.ID == other.ID && one.Destination == other.Destination && one.Commit == other.Commit
}
