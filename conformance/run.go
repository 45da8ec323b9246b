package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/driver"
	"github.com/sawhorse-dev/sawhorse/conformance/scenario"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// Mode is a way to play scenarios.
type Mode string

const (
	// Single plays a scenario over one protocol at a time, each on a fresh store.
	Single Mode = "single"
	// Mixed plays it once on one store, its steps turning from protocol to protocol.
	Mixed Mode = "mixed"
	// Parity compares the canonical transcripts of Single over all protocols with each other (J6). It needs a
	// target that can start afresh.
	Parity Mode = "parity"
)

// Start is how a fresh store begins.
type Start struct {
	Clock time.Time // of the fake clock
	Seed  uint64    // of the id source
}

// Target is a server under judgement.
type Target struct {
	// URL is the server's base, such as http://127.0.0.1:8080, without a slash at the end.
	URL string
	// Dial opens a connection to the server; nil dials the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Stdio starts a conversation over newline-delimited JSON; nil when the target has none.
	Stdio func(ctx context.Context) (io.ReadWriteCloser, error)
	// Root is the presentation root, such as /agents/default/wb; empty when it is to be learned from the first answer.
	Root string
	// Fresh starts a new server on an empty store; the runner closes it. Nil means that the target is shared:
	// workbench ids get a prefix of their own in each run, so that nothing else that lives there is touched.
	Fresh func(ctx context.Context, start Start) (*Target, error)
	// Advance moves the fake clock; nil when the clock is real.
	Advance func(time.Duration)
	// Crash drops what is not synced and opens the store again behind the same address; nil when it cannot.
	Crash func(ctx context.Context) error
	// Check examines the store; nil when it cannot.
	Check func(ctx context.Context) error
	// Close ends a fresh target.
	Close func() error
}

// Options choose what is played.
type Options struct {
	// Library is what is played; nil means Embedded.
	Library *Library
	// Modes defaults to all that the target allows.
	Modes []Mode
	// Protocols defaults to all.
	Protocols []driver.Protocol
	// Scenarios are patterns of ids as in path.Match, with ** for a prefix that goes on; none means all.
	Scenarios []string
	// KnownFailing are the lines of the ledger; nil means the one that the suite carries.
	KnownFailing []string
	// Parallel is how many scenarios run at once; at least 1.
	Parallel int
	// StepTimeout bounds one step; 0 means 30 s.
	StepTimeout time.Duration
	// StopAfter ends the run early after so many failures; 0 means never.
	StopAfter int
	// Progress, if not nil, is called after each result, by one goroutine at a time.
	Progress func(Result)
}

// Run plays the suite against a target. It returns a report in any case in which it could begin.
// Errors: the suite cannot be loaded, or nothing was played (J1). Failures of the target are in the report.
func Run(ctx context.Context, target Target, options Options) (Report, error) {
	if options.Library == nil {
		l, err := Embedded()
		if err != nil {
			return Report{}, err
		}
		options.Library = l
	}
	if len(options.Protocols) == 0 {
		options.Protocols = driver.Protocols()
	}
	if len(options.Modes) == 0 {
		options.Modes = []Mode{Single, Mixed, Parity}
	}
	if target.Fresh == nil {
		options.Modes = slices.DeleteFunc(slices.Clone(options.Modes), func(m Mode) bool { return m == Parity })
	}
	if options.StepTimeout == 0 {
		options.StepTimeout = 30 * time.Second
	}
	if options.KnownFailing == nil {
		known, err := embeddedLedger("known_failing.txt")
		if err != nil {
			return Report{}, err
		}
		options.KnownFailing = known
	}
	r := &runner{target: target, options: options}
	r.reachable(ctx)
	r.play(ctx)
	report := Report{Results: r.results, Protocols: options.Protocols, Modes: options.Modes}
	slices.SortFunc(report.Results, compareResults)
	report.settle(options.KnownFailing, len(options.Scenarios) == 0 && options.StopAfter == 0)
	if report.Played() == 0 {
		return report, errors.New("nothing was played")
	}
	return report, ctx.Err()
}

type runner struct {
	target      Target
	options     Options
	unreachable map[driver.Protocol]string

	mu       sync.Mutex
	results  []Result
	failures int
}

// reachable finds the protocols that the target does not offer at all, so that they are reported once.
func (r *runner) reachable(ctx context.Context) {
	r.unreachable = map[driver.Protocol]string{}
	if r.target.Stdio == nil && r.target.Fresh == nil {
		r.unreachable[driver.MCPStdio] = "the target gives no command to talk to over stdio"
	}
	_ = ctx
}

func (r *runner) add(result Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, result)
	if result.Outcome == Failed {
		r.failures++
	}
	if r.options.Progress != nil {
		r.options.Progress(result)
	}
}

func (r *runner) stopped(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ctx.Err() != nil || r.options.StopAfter > 0 && r.failures >= r.options.StopAfter
}

func (r *runner) wants(mode Mode) bool { return slices.Contains(r.options.Modes, mode) }

// play runs every chosen scenario and table, some at a time.
func (r *runner) play(ctx context.Context) {
	var jobs []func()
	for i, s := range r.options.Library.Scenarios {
		if selected(r.options.Scenarios, s.ID) {
			jobs = append(jobs, func() { r.playScenario(ctx, i, s) })
		}
	}
	for _, t := range r.options.Library.Tables {
		if selected(r.options.Scenarios, t.ID) {
			jobs = append(jobs, func() { r.playTable(ctx, t) })
		}
	}
	var wg sync.WaitGroup
	queue := make(chan func())
	for range max(1, r.options.Parallel) {
		wg.Go(func() {
			for job := range queue {
				if !r.stopped(ctx) {
					job()
				}
			}
		})
	}
	for _, job := range jobs {
		queue <- job
	}
	close(queue)
	wg.Wait()
}

// selected reports whether an id matches one of the patterns, or there is none.
func selected(patterns []string, id string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return matches(p, id) })
}

// matches is path.Match with ** at the end for everything below.
func matches(pattern, name string) bool {
	if n := len(pattern) - 2; n >= 0 && pattern[n:] == "**" {
		return len(name) >= n && name[:n] == pattern[:n]
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// seed is the same for all protocols, so that ids are.
const seed = 1

// defaultClock is where the fake clock starts when a scenario does not care.
var defaultClock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// lease is a target for one run: a fresh one, or the shared one with a prefix.
type lease struct {
	Target
	prefix string
}

func (r *runner) lease(ctx context.Context, clock time.Time) (*lease, error) {
	if r.target.Fresh == nil {
		var b [6]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, err
		}
		return &lease{Target: r.target, prefix: "c" + hex.EncodeToString(b[:]) + "-"}, nil
	}
	if clock.IsZero() {
		clock = defaultClock
	}
	t, err := r.target.Fresh(ctx, Start{Clock: clock, Seed: seed})
	if err != nil {
		return nil, err
	}
	return &lease{Target: *t}, nil
}

// end checks the store (J5) and closes a fresh target.
func (l *lease) end(ctx context.Context) error {
	var err error
	if l.Check != nil {
		if err = l.Check(ctx); err != nil {
			err = fmt.Errorf("the store fails its check: %w", err)
		}
	}
	if l.Close != nil {
		err = errors.Join(err, l.Close())
	}
	return err
}

func (r *runner) endpoint(l *lease) driver.Endpoint {
	return driver.Endpoint{URL: l.URL, Dial: l.Dial, Stdio: l.Stdio, Contract: r.options.Library.Contract}
}

// cannot says why a target cannot play a scenario, or nothing.
func (r *runner) cannot(s *scenario.Scenario) string {
	fresh := r.target.Fresh != nil
	switch {
	case s.NeedsClock && !fresh && r.target.Advance == nil:
		return "needs clock"
	case s.NeedsCrash && !fresh && r.target.Crash == nil:
		return "needs crash"
	case s.NeedsEmptyRoot && !fresh:
		return "needs empty-root"
	}
	return ""
}

// playScenario plays one scenario in all modes.
func (r *runner) playScenario(ctx context.Context, index int, s *scenario.Scenario) {
	result := func(mode Mode, p driver.Protocol) Result {
		return Result{ID: s.ID, Mode: mode, Protocol: p, Prose: s.Prose}
	}
	if why := r.cannot(s); why != "" {
		r.add(result(Single, "").notApplicable(why))
		return
	}
	transcripts := map[driver.Protocol][]entry{}
	if r.wants(Single) || r.wants(Parity) {
		for _, p := range r.protocolsOf(s) {
			if r.stopped(ctx) {
				return
			}
			res := result(Single, p)
			if why, un := r.unreachable[p]; un {
				r.add(res.notApplicable(why))
				continue
			}
			lines := r.once(ctx, s, &res, func(int) []driver.Protocol { return []driver.Protocol{p} })
			if res.Outcome == Passed {
				transcripts[p] = lines
			}
			if r.wants(Single) || res.Outcome == Failed {
				r.add(res)
			}
		}
	}
	if r.wants(Parity) && s.Only() == "" && len(transcripts) > 1 {
		res := result(Parity, "")
		res.parity(r.options.Protocols, transcripts)
		r.add(res)
	}
	if r.wants(Mixed) && !r.stopped(ctx) {
		r.playMixed(ctx, index, s, result(Mixed, ""))
	}
}

// protocolsOf lists the chosen protocols over which a scenario can be played as a whole.
func (r *runner) protocolsOf(s *scenario.Scenario) []driver.Protocol {
	var out []driver.Protocol
	for _, p := range r.options.Protocols {
		if only := s.Only(); only != "" && only != string(p) {
			continue
		}
		if s.Only() != "" || r.carriesAll(p, s) {
			out = append(out, p)
		}
	}
	return out
}

func (r *runner) carriesAll(p driver.Protocol, s *scenario.Scenario) bool {
	for _, step := range s.Steps {
		if op, ok := r.options.Library.Contract.Operation(step.Op); ok && !p.Carries(op) {
			return false
		}
	}
	return true
}

// playMixed turns the steps from protocol to protocol; where the turn begins differs between scenarios.
func (r *runner) playMixed(ctx context.Context, index int, s *scenario.Scenario, res Result) {
	var usable []driver.Protocol
	for _, p := range r.options.Protocols {
		if _, un := r.unreachable[p]; !un {
			usable = append(usable, p)
		}
	}
	if only := s.Only(); only != "" && !slices.Contains(usable, driver.Protocol(only)) {
		return
	}
	r.once(ctx, s, &res, func(turn int) []driver.Protocol {
		out := make([]driver.Protocol, len(usable))
		for i := range usable {
			out[i] = usable[(index+turn+i)%len(usable)]
		}
		return out
	})
	r.add(res)
}

// once plays a scenario on one store and fills in the result. choose gives the protocols to try at a turn.
func (r *runner) once(ctx context.Context, s *scenario.Scenario, res *Result, choose func(turn int) []driver.Protocol) []entry {
	began := time.Now()
	defer func() { res.Duration = time.Since(began) }()
	l, err := r.lease(ctx, s.Clock)
	if err != nil {
		res.fail("the target does not start: %v", err)
		return nil
	}
	p := &play{
		runner: r, scenario: s, lease: l, end: r.endpoint(l), choose: choose, result: res,
		drivers: map[driver.Protocol]driver.Driver{},
		env:     value.Names{"p": l.prefix},
	}
	if l.Root != "" {
		p.env["root"] = l.Root
	}
	p.steps(ctx)
	p.close()
	if err := l.end(ctx); err != nil {
		res.fail("%v", err)
	}
	if res.Outcome == "" {
		res.Outcome = Passed
	}
	return p.transcript
}
