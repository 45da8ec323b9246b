package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/driver"
	"github.com/sawhorse-dev/sawhorse/conformance/scenario"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// play is one run of one scenario on one store.
type play struct {
	runner     *runner
	scenario   *scenario.Scenario
	lease      *lease
	end        driver.Endpoint
	choose     func(turn int) []driver.Protocol
	turn       int
	drivers    map[driver.Protocol]driver.Driver
	env        value.Names
	raw        conversation
	result     *Result
	transcript []entry
	raced      bool // calls ran at once
}

// entry is one line of a canonical transcript.
type entry struct {
	step    int
	text    string
	skipped bool // the protocol cannot say the step, or its answer is not one that must be the same
}

// errStop ends a run whose later steps would make no sense.
var errStop = errors.New("stop")

func (p *play) steps(ctx context.Context) {
	for _, step := range p.scenario.Steps {
		if p.runner.stopped(ctx) && ctx.Err() != nil {
			p.result.fail("the run was ended: %v", ctx.Err())
			return
		}
		ctx, cancel := context.WithTimeout(ctx, p.runner.options.StepTimeout)
		err := p.step(ctx, step)
		cancel()
		if err != nil {
			if !errors.Is(err, errStop) {
				p.result.fail("step %d (%s:%d): %v", step.N, p.scenario.File, step.Line, err)
			}
			return
		}
	}
}

func (p *play) step(ctx context.Context, step *scenario.Step) error {
	switch step.Kind {
	case scenario.Call, scenario.Bad:
		if step.AtOnce {
			return p.atOnce(ctx, step)
		}
		for i := range step.Repeat {
			p.env["i"] = value.Number(fmt.Sprint(i))
			if err := p.call(ctx, step); err != nil {
				return err
			}
		}
		delete(p.env, "i")
		return nil
	case scenario.Tick:
		p.lease.Advance(step.Advance)
		return nil
	case scenario.Crash:
		p.close()
		return p.lease.Crash(ctx)
	default:
		return p.wire(ctx, step)
	}
}

// driver opens a connection when it is first needed.
func (p *play) driver(ctx context.Context, protocol driver.Protocol) (driver.Driver, error) {
	if d := p.drivers[protocol]; d != nil {
		return d, nil
	}
	d, err := driver.Open(ctx, protocol, p.end)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", protocol, err)
	}
	p.drivers[protocol] = d
	return d, nil
}

func (p *play) close() {
	if p.raw != nil {
		p.raw.abandon()
		p.raw = nil
	}
	for protocol, d := range p.drivers {
		// The answers were judged already; how a connection ends is a matter of wire scenarios.
		_ = d.Close()
		delete(p.drivers, protocol)
	}
}

var prefixable = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// arguments fills in the arguments of a step and checks them again, now that every value is known.
func (p *play) arguments(op *contract.Operation, step *scenario.Step, env value.Env) (any, error) {
	args, err := value.Resolve(step.Args, env)
	if err != nil {
		return nil, err
	}
	if object, ok := args.(map[string]any); ok && op.Area == "workbench" {
		for _, name := range []string{"id", "destination_id"} {
			if id, ok := object[name].(string); ok && prefixable.MatchString(id) {
				object[name] = p.lease.prefix + id
			}
		}
	}
	wrong := op.Check(args)
	if step.Kind == scenario.Call && wrong != nil {
		return nil, fmt.Errorf("the arguments violate the schema: %w", wrong)
	}
	if step.Kind == scenario.Bad && wrong == nil {
		return nil, errors.New("the arguments of bad satisfy the schema")
	}
	return args, nil
}

// candidates lists the protocols to try for an operation at this turn.
func (p *play) candidates(op *contract.Operation) []driver.Protocol {
	all := p.choose(p.turn)
	p.turn++
	out := slices.DeleteFunc(slices.Clone(all), func(c driver.Protocol) bool { return !c.Carries(op) })
	if len(out) == 0 && p.scenario.Only() != "" {
		// A scenario about the wire may prepare its ground over another protocol.
		out = []driver.Protocol{driver.HTTP}
	}
	return out
}

// call runs one call or bad step once.
func (p *play) call(ctx context.Context, step *scenario.Step) error {
	op, _ := p.runner.options.Library.Contract.Operation(step.Op)
	args, err := p.arguments(op, step, p.env)
	if err != nil {
		return err
	}
	for _, protocol := range p.candidates(op) {
		d, err := p.driver(ctx, protocol)
		if err != nil {
			return err
		}
		answer, err := d.Call(ctx, op, args)
		if errors.Is(err, driver.ErrInexpressible) {
			continue
		}
		if err != nil {
			p.result.Trace = d.Trace()
			return fmt.Errorf("%s over %s: %w", op.ID, protocol, err)
		}
		p.unprefix(answer)
		failures := p.judge(op, step, answer, p.env)
		for _, f := range failures {
			p.result.fail("step %d (%s:%d) %s over %s: %s", step.N, p.scenario.File, step.Line, op.ID, protocol, f)
		}
		if len(failures) > 0 {
			p.result.Trace = d.Trace()
			return errStop
		}
		p.transcript = append(p.transcript, entry{step: step.N, text: string(value.Encode(answer.Canonical())), skipped: p.raced})
		return p.save(step, saveable(answer))
	}
	p.result.NotCarried++
	p.transcript = append(p.transcript, entry{step: step.N, skipped: true})
	if len(step.Saves) > 0 {
		return errors.New("no protocol can say this step, and later ones need its answer")
	}
	return nil
}

// atOnce runs the repetitions of a step at the same time, each on a connection of its own.
func (p *play) atOnce(ctx context.Context, step *scenario.Step) error {
	op, _ := p.runner.options.Library.Contract.Operation(step.Op)
	type outcome struct {
		protocol driver.Protocol
		answer   *driver.Answer
		trace    string
		err      error
	}
	outcomes := make([]outcome, step.Repeat)
	drivers := make([]driver.Driver, step.Repeat)
	arguments := make([]any, step.Repeat)
	for i := range step.Repeat {
		env := p.at(i)
		args, err := p.arguments(op, step, env)
		if err != nil {
			return err
		}
		arguments[i] = args
		candidates := p.candidates(op)
		if len(candidates) == 0 {
			return fmt.Errorf("no protocol carries %s", op.ID)
		}
		outcomes[i].protocol = candidates[0]
		d, err := driver.Open(ctx, candidates[0], p.end)
		if err != nil {
			return err
		}
		defer d.Close()
		drivers[i] = d
	}
	var wg sync.WaitGroup
	for i := range step.Repeat {
		wg.Go(func() {
			o := &outcomes[i]
			o.answer, o.err = drivers[i].Call(ctx, op, arguments[i])
			o.trace = drivers[i].Trace()
		})
	}
	wg.Wait()
	failed := false
	for i, o := range outcomes {
		if o.err != nil {
			p.result.Trace = o.trace
			return fmt.Errorf("call %d over %s: %w", i, o.protocol, o.err)
		}
		p.unprefix(o.answer)
		for _, f := range p.judge(op, step, o.answer, p.at(i)) {
			p.result.fail("step %d (%s:%d) %s over %s, call %d: %s", step.N, p.scenario.File, step.Line, op.ID, o.protocol, i, f)
			p.result.Trace, failed = o.trace, true
		}
	}
	if failed {
		return errStop
	}
	// Which call came first is nobody's promise, so that these answers, and those that may follow from their order, are
	// judged but not compared.
	p.raced = true
	p.transcript = append(p.transcript, entry{step: step.N, skipped: true})
	return nil
}

// at is the environment of one repetition.
func (p *play) at(i int) value.Env {
	env := value.Names{}
	for name, v := range p.env {
		env[name] = v
	}
	env["i"] = value.Number(fmt.Sprint(i))
	return env
}

// unprefix takes the prefix of a shared target out of an answer again, and learns the presentation root from
// the first path that shows it.
func (p *play) unprefix(a *driver.Answer) {
	clean := func(s string) string { return s }
	if p.lease.prefix != "" {
		clean = func(s string) string { return strings.ReplaceAll(s, p.lease.prefix, "") }
	}
	a.Result = value.MapStrings(a.Result, clean)
	if a.Refusal != nil {
		a.Refusal.Message = clean(a.Refusal.Message)
		if a.Refusal.Details != nil {
			a.Refusal.Details, _ = value.MapStrings(a.Refusal.Details, clean).(map[string]any)
		}
	}
	p.learnRoot(a.Result)
}

// learnRoot sets ${root} from a result: the workbench's path without its id. The first answer defines it and
// every later one must agree, through the patterns that use it.
func (p *play) learnRoot(result any) {
	if _, known := p.env["root"]; known {
		return
	}
	id, _ := value.At(result, "workbench_id")
	for _, member := range []string{"workbench_path", "path"} {
		at, _ := value.At(result, member)
		full, ok := at.(string)
		if !ok {
			continue
		}
		if root, _, found := strings.Cut(full, fmt.Sprintf("/%v", id)); found {
			p.env["root"] = root
			return
		}
	}
}

// judge compares an answer with what a step expects and lists the differences.
func (p *play) judge(op *contract.Operation, step *scenario.Step, a *driver.Answer, env value.Env) []string {
	failures := slices.Clone(a.Breaches)
	add := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	e := step.Expect
	pattern, err := value.Resolve(e.Pattern, env)
	if err != nil {
		return append(failures, err.Error())
	}
	if a.Fault != nil {
		add("the protocol refused the message: %d %s", a.Fault.Code, a.Fault.Message)
		return failures
	}
	if e.Outcome == scenario.OK {
		if a.Refusal != nil {
			add("refused with %s %s: %s %s", a.Refusal.Code, a.Refusal.Reason, a.Refusal.Message, value.Shorten(a.Refusal.Details))
			return failures
		}
		return append(failures, value.Match(pattern, a.Result)...)
	}
	if a.Refusal == nil {
		add("succeeded with %s, want %s", value.Shorten(a.Result), e.Reason)
		return failures
	}
	reason, _ := p.runner.options.Library.Contract.Reason(e.Reason)
	details, _ := pattern.(map[string]any)
	return append(failures, judgeRefusal(reason, op.Area, a.Refusal, details, e.Names)...)
}

// judgeRefusal compares a refusal with the registry's row, and with the details and names that are asserted.
func judgeRefusal(reason *contract.Reason, area string, r *driver.Refusal, details map[string]any, names []string) []string {
	var failures []string
	add := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	if want := reason.Code[area]; r.Code != want {
		add("the code is %q, want %q (%s): %s", r.Code, want, reason.Name, r.Message)
	}
	if r.Reason != "" && r.Reason != reason.Name {
		add("the reason is %s, want %s: %s", r.Reason, reason.Name, r.Message)
	}
	if r.Retryable != nil && *r.Retryable != reason.Retryable {
		add("retryable is %v, want %v (%s)", *r.Retryable, reason.Retryable, reason.Name)
	}
	if r.Status != 0 && r.Status != reason.HTTP {
		add("the status is %d, want %d (%s)", r.Status, reason.HTTP, reason.Name)
	}
	if r.Connect != "" && r.Connect != reason.Connect {
		add("the Connect code is %s, want %s (%s)", r.Connect, reason.Connect, reason.Name)
	}
	if r.Message == "" {
		add("the message is empty")
	}
	for _, name := range names {
		if !strings.Contains(r.Message, name) {
			add("the message does not name %q: %s", name, r.Message)
		}
	}
	if leak := leaked(r.Message + " " + string(value.Encode(r.Details))); leak != "" {
		add("%q in the error shows the inside of the server: %s", leak, r.Message)
	}
	if r.Details != nil {
		if err := reason.CheckDetails(r.Details); err != nil {
			add("%v", err)
		}
		asserted := map[string]any{}
		for name, pattern := range details {
			asserted[name] = pattern
		}
		shown := map[string]any{}
		for name, v := range r.Details {
			if _, ok := asserted[name]; ok {
				shown[name] = v
			}
		}
		for _, f := range value.Match(asserted, shown) {
			add("details%s", strings.TrimPrefix(f, "$"))
		}
	}
	return failures
}

// inside are texts that only the inside of a server knows: host paths, Go's own words, the names of parts.
var inside = regexp.MustCompile(`(?:^|[\s"'=(])/(?:tmp|root|home|var|usr|proc)/|\.go:[0-9]|goroutine |runtime error|panic:|\*?\bop\.[A-Z]|interface \{\}|\bjson: |\bproto: |unmarshal|(?i)pebble|\bEOF\b|github\.com|strconv\.|<nil>|%!|0x[0-9a-f]{6}`)

func leaked(text string) string { return inside.FindString(text) }

// saveable is the part of an answer from which members are saved.
func saveable(a *driver.Answer) any {
	if a.Refusal != nil {
		return map[string]any{"code": a.Refusal.Code, "message": a.Refusal.Message, "details": a.Refusal.Details}
	}
	return a.Result
}

func (p *play) save(step *scenario.Step, from any) error {
	for _, s := range step.Saves {
		v, ok := value.At(from, s.Path)
		if !ok {
			return fmt.Errorf("nothing to save: the answer has no %s: %s", s.Path, value.Shorten(from))
		}
		p.env[s.Name] = v
	}
	return nil
}
