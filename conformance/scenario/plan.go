package scenario

import (
	"strings"

	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// plan checks what only the whole file shows (S2 to S6).
func (p *parser) plan() {
	p.planNames()
	p.planNeeds()
	p.planConnections()
	for _, step := range p.s.Steps {
		switch step.Kind {
		case Call, Bad:
			p.planArguments(step)
			fallthrough
		case Wire:
			if step.Expect == nil && (step.Message == nil || !step.Message.Cut) {
				p.refuse(step.Line, "step %d does not say what it expects", step.N)
			}
		}
		if step.AtOnce && len(step.Saves) > 0 {
			p.refuse(step.Saves[0].Line, "calls that run at once have no one answer to save from")
		}
		if len(step.Saves) > 0 && step.Expect == nil {
			p.refuse(step.Saves[0].Line, "step %d has no answer to save from", step.N)
		}
	}
}

// planNames checks that names are saved before they are used and used after they are saved (S4).
func (p *parser) planNames() {
	saved := map[string]*Save{}
	used := map[string]bool{}
	for _, b := range builtins {
		saved[b], used[b] = &Save{}, true
	}
	unused := func(name string) {
		if save := saved[name]; save != nil && !used[name] {
			p.refuse(save.Line, "%q is saved and never used", name)
		}
	}
	for _, step := range p.s.Steps {
		use := func(name string) {
			if saved[name] == nil {
				p.refuse(step.Line, "step %d uses %q, which nothing above it saves", step.N, name)
			}
			if name == "i" && step.Repeat == 1 {
				p.refuse(step.Line, "step %d uses ${i} and is not repeated", step.N)
			}
			used[name] = true
		}
		value.Uses(step.Args, use)
		step.Message.uses(use)
		if e := step.Expect; e != nil {
			value.Uses(e.Pattern, use)
			e.Reply.uses(use)
		}
		for i := range step.Saves {
			save := &step.Saves[i]
			unused(save.Name)
			saved[save.Name], used[save.Name] = save, false
		}
	}
	for _, step := range p.s.Steps {
		for i := range step.Saves {
			if saved[step.Saves[i].Name] == &step.Saves[i] {
				unused(step.Saves[i].Name)
			}
		}
	}
}

func (m *Message) uses(fn func(string)) {
	if m == nil {
		return
	}
	if m.Path != nil {
		m.Path.Uses(fn)
	}
	if m.Body != nil {
		m.Body.Uses(fn)
	}
	value.Uses(m.Pattern, fn)
	for _, h := range m.Headers {
		value.Uses(h.Value, fn)
	}
}

// planNeeds checks that the header declares what the steps do to the target (S6).
func (p *parser) planNeeds() {
	var ticks, crashes bool
	for _, step := range p.s.Steps {
		switch {
		case step.Kind == Tick && !p.s.NeedsClock:
			p.refuse(step.Line, "tick moves the clock; the header says needs clock")
		case step.Kind == Crash && !p.s.NeedsCrash:
			p.refuse(step.Line, "crash cuts the power; the header says needs crash")
		}
		ticks = ticks || step.Kind == Tick
		crashes = crashes || step.Kind == Crash
	}
	if p.s.NeedsCrash && !crashes {
		p.refuse(p.header, "the header needs crash and no step crashes")
	}
	if p.s.NeedsClock && !ticks && p.s.Clock.IsZero() {
		p.refuse(p.header, "the header needs clock, but sets none and no step moves it")
	}
}

// planConnections checks that raw connections are opened before use, one at a time, and on one protocol.
func (p *parser) planConnections() {
	protocol, open := "", false
	for _, step := range p.s.Steps {
		if step.Protocol != "" {
			if protocol != "" && step.Protocol != protocol {
				p.refuse(step.Line, "the raw steps of one scenario speak one protocol, here %s and %s", protocol, step.Protocol)
			}
			protocol = step.Protocol
		}
		switch step.Kind {
		case Open:
			if overHTTP(step.Protocol) {
				p.refuse(step.Line, "%s has no connection to open: each wire step is a request of its own", step.Protocol)
			}
			if open {
				p.refuse(step.Line, "a connection is open already")
			}
			open = true
		case Wire:
			if !overHTTP(step.Protocol) && !open {
				p.refuse(step.Line, "no connection is open")
			}
		case Recv, Close:
			if !open {
				p.refuse(step.Line, "no connection is open")
			}
			open = open && step.Kind == Recv
		}
	}
	if open {
		p.refuse(p.s.Steps[len(p.s.Steps)-1].Line, "a connection is left open")
	}
}

// standIns are values in the place of what is saved while a scenario runs: a
// number, a text, and the identity of a commit.
var standIns = []any{value.Number("1"), "x", strings.Repeat("0", 64)}

// planArguments checks a call against its schema (S3). A value that is only known later stands in as a
// number and as text; arguments are right when some choice satisfies the schema.
func (p *parser) planArguments(step *Step) {
	op, ok := p.catalogue.Operation(step.Op)
	if !ok {
		p.refuse(step.Line, "no operation %q", step.Op)
		return
	}
	if op.Streams() {
		p.refuse(step.Line, "%s has no arguments in JSON; it is reached with wire", step.Op)
		return
	}
	if step.Args == nil {
		return
	}
	var names []string
	seen := map[string]bool{}
	value.Uses(step.Args, func(name string) {
		if !seen[name] {
			names, seen[name] = append(names, name), true
		}
	})
	if len(names) > 6 {
		p.refuse(step.Line, "step %d uses more than six names", step.N)
		return
	}
	var wrong error
	choices := 1
	for range names {
		choices *= len(standIns)
	}
	for choice := range choices {
		env := value.Names{}
		for _, name := range names {
			env[name] = standIns[choice%len(standIns)]
			choice /= len(standIns)
		}
		args, err := value.Resolve(step.Args, env)
		if err != nil {
			p.refuse(step.Line, "%v", err)
			return
		}
		err = op.Check(args)
		if err == nil {
			if step.Kind == Bad {
				p.refuse(step.Line, "the arguments of bad satisfy the schema of %s", step.Op)
			}
			return
		}
		if wrong == nil {
			wrong = err
		}
	}
	if step.Kind == Call {
		p.refuse(step.Line, "the arguments violate the schema of %s: %v", step.Op, wrong)
	}
}
