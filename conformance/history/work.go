package history

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Work is what many clients do at once, and what a server has to be like for it to be judged: nobody else writes in
// these workbenches, and its clock stands still.
type Work struct {
	Clients, Rounds int
	// Families is how many workbenches the clients share, with all that is restored from each.
	Families int
	Seed     uint64
	// Root is the presentation root, Seconds what the server's clock says.
	Root    string
	Seconds int64
}

// Perform carries a call of a client. An error is one of the carrying, never a refusal.
type Perform func(client int, c Call) (Answer, error)

// Record is one call of a history. From and To are instants of one clock.
type Record struct {
	Client   int
	Call     Call
	Answer   Answer
	From, To int64
}

// Identity is that of a commit.
func (w Work) Identity(c Call) string { return identityOf(c.ID, content, uri(manifestOf(c.A))) }

// Run has all clients do their work, and gives what they were told.
func (w Work) Run(perform Perform) ([]Record, error) {
	var mu sync.Mutex
	var records []Record
	var failed error
	began := time.Now()
	var working sync.WaitGroup
	for client := range w.Clients {
		working.Go(func() {
			rng := rand.New(rand.NewPCG(w.Seed, uint64(client)))
			for round := range w.Rounds {
				c := w.draw(rng, client, round)
				mu.Lock()
				stop := failed != nil
				mu.Unlock()
				if stop {
					return
				}
				from := time.Since(began)
				a, err := perform(client, c)
				to := time.Since(began)
				mu.Lock()
				if err != nil && failed == nil {
					failed = fmt.Errorf("client %d, round %d, %+v: %w", client, round, c, err)
				}
				records = append(records, Record{client, c, a, int64(from), int64(to)})
				mu.Unlock()
			}
		})
	}
	working.Wait()
	return records, failed
}

// draw is what a client does in a round.
func (w Work) draw(rng *rand.Rand, client, round int) Call {
	family := rng.IntN(w.Families)
	source := fmt.Sprint("family-", family)
	// Destinations come up one after the other, so that clients meet at them while they come to be.
	destination := fmt.Sprintf("%s-copy-%d", source, round/8*2+rng.IntN(2))
	c := Call{Family: family, ID: source, Path: fmt.Sprint("f", rng.IntN(fileNames)), A: fmt.Sprintf("[%d.%d]", client, round)}
	if rng.IntN(4) == 0 {
		c.ID = fmt.Sprintf("%s-copy-%d", source, rng.IntN(round/8*2+2))
	}
	switch n := rng.IntN(30); {
	case n < 3:
		c.Verb = "put"
	case n < 6:
		c.Verb = "replace"
	case n < 10:
		c.Verb = "append"
	case n < 11:
		c.Verb, c.A, c.B = "edit", "[", "[+"
	case n < 12:
		c.Verb, c.A, c.B = "edit", "+", ""
	case n < 13:
		c.Verb, c.A, c.B = "edit", "]", "]"
	case n < 16:
		c.Verb = "read"
	case n < 20:
		c.Verb, c.Path, c.A = "look", "", ""
	case n < 22:
		c.Verb, c.Path, c.A = "head", "", ""
	case n < 26:
		// A few words, so that commits are asked for again, and with the other replace too.
		c.Verb, c.Path, c.A, c.Replace = "commit", "", fmt.Sprint(rng.IntN(6), "-", round/8), rng.IntN(3) > 0
	default:
		c.Verb, c.Path, c.Destination = "restore", "", destination
		if c.ID == destination {
			c.ID = source
		}
		c.Commit = w.Identity(Call{ID: c.ID, A: fmt.Sprint(rng.IntN(6), "-", rng.IntN(round/8+1))})
		c.A = ""
	}
	if c.Verb == "read" {
		c.A = ""
	}
	return c
}

// model is the contract in the form that the checker takes.
func (w Work) model(operations []porcupine.Operation) porcupine.Model {
	observers := map[sight]int{}
	for _, o := range operations {
		for _, s := range observes(o.Input.(event), o.Output.(Answer)) {
			observers[s]++
		}
	}
	return porcupine.Model{
		Init: func() any {
			return &state{benches: map[string]*bench{}, begun: map[int]*begun{}, seen: map[place]int{}}
		},
		Step: func(now, input, output any) (bool, any) {
			next := w.counted(observers, now.(*state), input.(event), output.(Answer))
			return next != nil, next
		},
		Equal: func(a, b any) bool { return a.(*state).sum == b.(*state).sum },
		Hash:  func(s any) uint64 { return s.(*state).sum[0] },
	}
}

// Check demands that one order of the calls explains all answers. It gives up after a while, which is an error too.
func (w Work) Check(records []Record, within time.Duration) error {
	families := map[int][]porcupine.Operation{}
	for i, r := range records {
		e := event{Call: r.Call, number: i, from: r.From, to: r.To, rival: w.rival(records, i)}
		phases := []int{0}
		if r.Call.Verb == "commit" && r.Answer.Code == "" && !r.Answer.Flag {
			phases = []int{1, 2}
		}
		for _, e.phase = range phases {
			families[e.Family] = append(families[e.Family], porcupine.Operation{ClientId: r.Client, Input: e, Call: r.From, Output: r.Answer, Return: r.To})
		}
	}
	until := time.Now().Add(within)
	for family, operations := range families {
		// One at a time: what is wrong is then told of one family.
		left := time.Until(until)
		if o := tighten(operations); o != nil {
			return fmt.Errorf("no order of the %d calls of family %d explains what they were told; %+v -> %+v has no instant at which it can be true",
				len(operations), family, o.Input.(event).Call, o.Output)
		}
		result, info := porcupine.CheckOperationsVerbose(w.model(operations), operations, max(left, 1))
		switch result {
		case porcupine.Illegal:
			return fmt.Errorf("no order of the %d calls of family %d explains what they were told; %s", len(operations), family, stuck(operations, info))
		case porcupine.Unknown:
			return fmt.Errorf("whether an order of the %d calls of family %d explains what they were told was not found out in %v", len(operations), family, within)
		}
	}
	return nil
}

// rival reports whether a restore was refused because of what was under way meanwhile: another restore into the same
// workbench; a commit that lost in the end, and has made the workbench all the same; the commit that it asks for.
func (w Work) rival(records []Record, i int) bool {
	r := records[i]
	if r.Call.Verb != "restore" || r.Answer.Code == "" {
		return false
	}
	return slices.ContainsFunc(records, func(o Record) bool {
		if o.From > r.To || r.From > o.To {
			return false
		}
		carried := o.Answer.Code == "" && !o.Answer.Flag
		switch r.Answer.Code {
		case "Conflict":
			return o.Call.Verb == "commit" && o.Call.ID == r.Call.Destination && o.Answer.Code == "WorkbenchCommitConflict"
		case "InvalidState":
			return o.Call.Verb == "commit" && o.Call.ID == r.Call.ID && w.Identity(o.Call) == r.Call.Commit && (carried || o.Answer.Code == "WorkbenchCommitConflict")
		case "AlreadyExists":
			return o.Call.Verb == "restore" && o.Call.Destination == r.Call.Destination && !asks(o.Call, r.Call) && (carried || o.Answer.Code == "Conflict")
		}
		return false
	})
}

// stuck tells what the longest order that explains something leaves unexplained.
func stuck(operations []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, part := range info.PartialLinearizationsOperations() {
		for _, order := range part {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	explained := map[[2]int]bool{}
	for _, o := range longest {
		e := o.Input.(event)
		explained[[2]int{e.number, e.phase}] = true
	}
	left := slices.DeleteFunc(slices.Clone(operations), func(o porcupine.Operation) bool {
		e := o.Input.(event)
		return explained[[2]int{e.number, e.phase}]
	})
	slices.SortFunc(left, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	var t strings.Builder
	fmt.Fprintf(&t, "%d are explained, and not\n", len(longest))
	for _, o := range left[:min(len(left), 6)] {
		e := o.Input.(event)
		fmt.Fprintf(&t, "  %d..%d client %d phase %d: %+v -> %+v\n", o.Call, o.Return, o.ClientId, e.phase, e.Call, o.Output)
	}
	if len(longest) > 0 {
		fmt.Fprintf(&t, "after %+v", longest[len(longest)-1])
	}
	return t.String()
}

// Outcomes counts the answers by verb and public word, so that a test can demand that what it means to judge has
// happened.
func Outcomes(records []Record) map[string]int {
	n := map[string]int{}
	for _, r := range records {
		word := cmp.Or(r.Answer.Code, "ok")
		if r.Answer.Flag && (r.Call.Verb == "commit" || r.Call.Verb == "restore") {
			word = "again"
		}
		n[r.Call.Verb+" "+word]++
	}
	return n
}
