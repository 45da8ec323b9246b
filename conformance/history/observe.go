package history

import (
	"fmt"
	"maps"
	"strings"

	"github.com/anishathalye/porcupine"
)

// place is a file of a workbench.
type place struct{ id, path string }

// sight is a file at a generation, 0 for one that is not there.
type sight struct {
	place
	generation int64
}

// fileNames is how many files below outputs the clients know of.
const fileNames = 3

// places are the files that a workbench can have here, but for the restore manifest.
func places(id string) []place {
	all := []place{{id, runManifest}}
	for i := range fileNames {
		all = append(all, place{id, fmt.Sprint("outputs/f", i)})
	}
	return all
}

// observes lists what an event shows by its answer: each sight is of an instant at which the file was at that
// generation. Since no generation comes back, a file may only move on when all who saw its present one have been
// explained: what else would follow explains nothing, and the checker need not look for it.
func observes(e event, a Answer) []sight {
	at := place{e.ID, "outputs/" + e.Path}
	switch e.Verb {
	case "read", "edit", "replace", "put":
		switch {
		case a.Code == "NotFound":
			return []sight{{at, 0}}
		case a.Code == "AlreadyExists", e.Verb == "read", a.Flag:
			return []sight{{at, a.Generation}}
		}
	case "head":
		return []sight{{place{e.ID, runManifest}, a.Generation}}
	case "commit":
		if e.phase == 1 {
			return []sight{{place{e.ID, runManifest}, a.Generation - 1}}
		}
	case "look":
		var all []sight
		for _, p := range places(e.ID) {
			s := sight{place: p}
			if _, rest, ok := strings.Cut(a.Text, p.path+" "); ok {
				_, _ = fmt.Sscan(rest, &s.generation)
			}
			all = append(all, s)
		}
		return all
	}
	return nil
}

// moves lists the files that a step takes to another generation, from where.
func moves(e event, before, after *state) (moved []sight) {
	id := e.ID
	if e.Verb == "restore" {
		id = e.Destination
	}
	if before.benches[id] == after.benches[id] {
		return nil
	}
	for _, p := range places(id) {
		was, is := before.generation(p), after.generation(p)
		if was != is {
			moved = append(moved, sight{p, was})
		}
	}
	return moved
}

func (s *state) generation(p place) int64 {
	if b := s.benches[p.id]; b != nil {
		return b.files[p.path].generation
	}
	return 0
}

// counted is a step that is taken only where it leaves nobody behind.
func (w Work) counted(observers map[sight]int, s *state, e event, a Answer) *state {
	next := w.step(s, e, a)
	if next == nil {
		return nil
	}
	moved, seen := moves(e, s, next), observes(e, a)
	for _, m := range moved {
		if s.seen[m.place] != observers[m] {
			return nil
		}
	}
	if len(moved)+len(seen) == 0 {
		return next
	}
	next = next.clone()
	next.seen = maps.Clone(next.seen)
	for _, m := range moved {
		next.see(m.place, -next.seen[m.place])
	}
	for _, o := range seen {
		next.see(o.place, 1)
	}
	return next
}

func (s *state) see(p place, more int) {
	s.add(fmt.Sprint("seen ", p.id, p.path, s.seen[p]))
	s.seen[p] += more
	s.add(fmt.Sprint("seen ", p.id, p.path, s.seen[p]))
}

// writes gives the sight that an event makes of a file by its own answer.
func writes(e event, a Answer) (sight, bool) {
	switch e.Verb {
	case "put", "replace", "append", "edit":
		return sight{place{e.ID, "outputs/" + e.Path}, a.Generation}, a.Code == "" && (e.Verb == "append" || !a.Flag)
	case "commit":
		return sight{place{e.ID, runManifest}, a.Generation}, e.phase == 2
	}
	return sight{}, false
}

// tighten narrows the spans of events by what their answers say of their order: who made a generation came before all who
// saw it, and those before the one who made the next. A call that stood still for long while others went on has its
// instant pinned down by that, and the checker has less to try. It returns an event for which no instant is left, if there
// is one.
func tighten(operations []porcupine.Operation) (without *porcupine.Operation) {
	writers, seers := map[sight]int{}, map[sight][]int{}
	for i, o := range operations {
		e, a := o.Input.(event), o.Output.(Answer)
		if s, ok := writes(e, a); ok {
			writers[s] = i
		}
		for _, s := range observes(e, a) {
			seers[s] = append(seers[s], i)
		}
	}
	var pairs [][2]int // the first before the second
	for s, w := range writers {
		for _, o := range seers[s] {
			pairs = append(pairs, [2]int{w, o})
		}
		before := sight{s.place, s.generation - 1}
		for _, o := range seers[before] {
			pairs = append(pairs, [2]int{o, w})
		}
		if o, ok := writers[before]; ok {
			pairs = append(pairs, [2]int{o, w})
		}
	}
	for changed := true; changed; {
		changed = false
		for _, p := range pairs {
			first, second := &operations[p[0]], &operations[p[1]]
			if first.Return > second.Return {
				first.Return, changed = second.Return, true
			}
			if second.Call < first.Call {
				second.Call, changed = first.Call, true
			}
			for _, o := range []*porcupine.Operation{first, second} {
				if o.Call > o.Return {
					return o
				}
			}
		}
	}
	return nil
}
