package scenario

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// builtins are names that every scenario may use without saving them: the presentation root, the prefix
// that a shared target puts before workbench ids, and the number of the repetition, from 0.
var builtins = []string{"root", "p", "i"}

var idForm = regexp.MustCompile(`^[a-z][a-z0-9]*(/[a-z0-9]+(-[a-z0-9]+)*)+$`)

// Parse reads one scenario file and checks it against c. The error is Problems.
func Parse(file string, data []byte, c Catalogue) (*Scenario, error) {
	p := &parser{file: file, catalogue: c, s: &Scenario{File: file}, seen: map[string]int{}}
	p.parse(split(string(data)))
	p.plan()
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return p.s, nil
}

type parser struct {
	file      string
	catalogue Catalogue
	s         *Scenario
	seen      map[string]int
	header    int // line of the scenario section
	problems  Problems
}

func (p *parser) refuse(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{p.file, line, fmt.Sprintf(format, args...)})
}

func (p *parser) parse(a archive) {
	p.s.Prose = strings.TrimSpace(a.comment)
	if p.s.Prose == "" {
		p.refuse(1, "the file begins with a line that says what it shows")
	}
	if len(a.sections) == 0 || a.sections[0].name != "scenario" {
		line := 1
		if len(a.sections) > 0 {
			line = a.sections[0].line
		}
		p.refuse(line, "the first section is -- scenario --")
		return
	}
	p.header = a.sections[0].line
	p.parseHeader(a.sections[0])
	for _, sec := range a.sections[1:] {
		if first, again := p.seen[sec.name]; again {
			p.refuse(sec.line, "section %q appears twice, first in line %d", sec.name, first)
			continue
		}
		p.seen[sec.name] = sec.line
		p.parseStep(sec)
	}
	if len(p.s.Steps) == 0 {
		p.refuse(p.header, "a scenario has at least one step")
	}
}

// headerLines calls fn with the key and value of every line of a header section.
func headerLines(sec section, fn func(line int, key, val string)) {
	n := sec.line
	for text := range strings.Lines(sec.body) {
		n++
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		key, val, _ := strings.Cut(text, " ")
		fn(n, key, strings.TrimSpace(val))
	}
}

func (p *parser) parseHeader(sec section) {
	keys := map[string]bool{}
	headerLines(sec, func(line int, key, val string) {
		if keys[key] {
			p.refuse(line, "header %q appears twice", key)
		}
		keys[key] = true
		if val == "" {
			p.refuse(line, "header %q has no value", key)
		}
		switch key {
		case "id":
			p.s.ID = val
			if !idForm.MatchString(val) {
				p.refuse(line, "id %q is not of the form area/name-in-kebab-case", val)
			}
			if stem := strings.TrimSuffix(path.Base(p.file), ".txtar"); path.Base(val) != stem {
				p.refuse(line, "id %q does not end in the name of its file, %q", val, stem)
			}
		case "requires":
			p.s.Requires = strings.Fields(val)
			for _, id := range p.s.Requires {
				if !p.catalogue.Requirement(id) {
					p.refuse(line, "no requirement %s", id)
				}
			}
		case "clock":
			at, err := time.Parse(time.RFC3339, val)
			if err != nil || !strings.HasSuffix(val, "Z") {
				p.refuse(line, "clock %q is not an instant in UTC such as 2026-01-02T03:04:05Z", val)
			}
			p.s.Clock = at
		case "needs":
			for _, need := range strings.Fields(val) {
				switch need {
				case "clock":
					p.s.NeedsClock = true
				case "crash":
					p.s.NeedsCrash = true
				case "empty-root":
					p.s.NeedsEmptyRoot = true
				default:
					p.refuse(line, "a scenario cannot need %q; there are clock, crash and empty-root", need)
				}
			}
		default:
			p.refuse(line, "no header %q", key)
		}
	})
	for _, key := range []string{"id", "requires"} {
		if !keys[key] {
			p.refuse(sec.line, "header %q is missing", key)
		}
	}
}

var stepName = regexp.MustCompile(`^([1-9][0-9]*) ([a-z]+)(?: (.+))?$`)

func (p *parser) parseStep(sec section) {
	m := stepName.FindStringSubmatch(sec.name)
	if m == nil {
		p.refuse(sec.line, "unknown section %q", sec.name)
		return
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		p.refuse(sec.line, "step number %s is too large", m[1])
		return
	}
	word, arg := m[2], m[3]
	var last *Step
	if len(p.s.Steps) > 0 {
		last = p.s.Steps[len(p.s.Steps)-1]
	}
	switch kind := Kind(word); kind {
	case Call, Bad, Wire, Tick, Crash, Open, Recv, Close:
		want := 1
		if last != nil {
			want = last.N + 1
		}
		switch {
		case last != nil && n == last.N:
			p.refuse(sec.line, "step %d already does something in line %d", n, last.Line)
		case n != want:
			p.refuse(sec.line, "step %d is out of order, the next is %d", n, want)
		}
		step := &Step{N: n, Line: sec.line, Kind: kind, Repeat: 1}
		p.s.Steps = append(p.s.Steps, step)
		p.parseAction(step, sec, arg)
	case "ok", "error", "reply", "save", "repeat":
		if last == nil || last.N != n {
			p.refuse(sec.line, "%q belongs to step %d, which is not the step above it", word, n)
			return
		}
		switch word {
		case "save":
			p.parseSaves(last, sec, arg)
		case "repeat":
			p.parseRepeat(last, sec, arg)
		default:
			p.parseExpect(last, sec, Outcome(word), arg)
		}
	default:
		p.refuse(sec.line, "unknown section %q", sec.name)
	}
}

func (p *parser) parseAction(step *Step, sec section, arg string) {
	noArg := func() {
		if arg != "" {
			p.refuse(sec.line, "%s takes no argument", step.Kind)
		}
	}
	protocol := func() {
		step.Protocol = arg
		if !p.catalogue.Protocol(arg) {
			p.refuse(sec.line, "no protocol %q", arg)
		}
	}
	switch step.Kind {
	case Call, Bad:
		step.Op = arg
		if v, ok := p.json(sec); ok {
			args, err := value.CompileArguments(v)
			if err != nil {
				p.refuse(sec.line, "%v", err)
			}
			step.Args = args
		}
	case Wire:
		protocol()
		step.Message = p.message(sec, overHTTP(arg))
	case Open:
		protocol()
		step.Message = p.message(sec, false)
	case Tick:
		noArg()
		d, err := time.ParseDuration(strings.TrimSpace(sec.body))
		if err != nil || d <= 0 {
			p.refuse(sec.line, "tick %q is not a positive duration such as 90s", strings.TrimSpace(sec.body))
		}
		step.Advance = d
	case Crash:
		noArg()
		if strings.TrimSpace(sec.body) != "" {
			p.refuse(sec.line, "crash has no body")
		}
	case Recv:
		noArg()
		step.Expect = &Expect{Line: sec.line, Outcome: Reply, Reply: p.reply(sec, false)}
	case Close:
		noArg()
		step.Message = p.closing(sec)
	}
}

// overHTTP reports that the raw messages of a protocol are HTTP requests.
func overHTTP(protocol string) bool {
	return !strings.HasPrefix(protocol, "ws-") && !strings.HasSuffix(protocol, "-stdio")
}

// json reads the body of a section as one value.
func (p *parser) json(sec section) (any, bool) {
	v, err := value.Decode([]byte(sec.body))
	if err != nil {
		p.refuse(sec.line, "not a JSON value: %v", err)
		return nil, false
	}
	return v, true
}

func (p *parser) parseExpect(step *Step, sec section, outcome Outcome, arg string) {
	if step.Expect != nil {
		p.refuse(sec.line, "step %d already expects something in line %d", step.N, step.Expect.Line)
		return
	}
	e := &Expect{Line: sec.line, Outcome: outcome}
	step.Expect = e
	switch step.Kind {
	case Call, Bad:
		if outcome == Reply {
			p.refuse(sec.line, "a %s is answered with ok or error; reply is for wire", step.Kind)
		}
	case Wire:
		if outcome == OK {
			p.refuse(sec.line, "a wire step is answered with reply or error")
		}
		if step.Message.Cut {
			p.refuse(sec.line, "nothing answers a request that is cut")
		}
	default:
		p.refuse(sec.line, "nothing answers %s", step.Kind)
	}
	switch outcome {
	case OK:
		if arg != "" {
			p.refuse(sec.line, "ok takes no argument")
		}
		if v, ok := p.json(sec); ok {
			e.Pattern = p.pattern(sec.line, v)
		}
	case Error:
		e.Reason = arg
		if !p.catalogue.Reason(arg) {
			p.refuse(sec.line, "no reason %q", arg)
		}
		v, ok := p.json(sec)
		if !ok {
			return
		}
		details, ok := v.(map[string]any)
		if !ok {
			p.refuse(sec.line, "the body of error is an object: the details that are asserted")
			return
		}
		e.Names = p.names(sec.line, details)
		e.Pattern = p.pattern(sec.line, details)
	case Reply:
		if arg != "" {
			p.refuse(sec.line, "reply takes no argument")
		}
		e.Reply = p.reply(sec, overHTTP(step.Protocol))
	}
}

// names takes the member $names out of the body of an error.
func (p *parser) names(line int, details map[string]any) []string {
	v, ok := details["$names"]
	if !ok {
		return nil
	}
	delete(details, "$names")
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	var out []string
	for _, e := range list {
		s, ok := e.(string)
		if !ok || s == "" {
			p.refuse(line, "$names is a text or a list of texts that the message must contain")
			continue
		}
		out = append(out, s)
	}
	return out
}

func (p *parser) pattern(line int, v any) any {
	pattern, err := value.CompilePattern(v)
	if err != nil {
		p.refuse(line, "%v", err)
	}
	return pattern
}

func (p *parser) template(line int, s string) *value.Template {
	t, err := value.ParseTemplate(s)
	if err != nil {
		p.refuse(line, "%v", err)
	}
	return t
}

func (p *parser) parseSaves(step *Step, sec section, arg string) {
	if arg != "" {
		p.refuse(sec.line, "save takes no argument")
	}
	n := sec.line
	for text := range strings.Lines(sec.body) {
		n++
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		name, from, ok := strings.Cut(text, "=")
		name, from = strings.TrimSpace(name), strings.TrimSpace(from)
		if !ok || !value.IsName(name) || from == "" {
			p.refuse(n, "%q is not of the form name = member.of.the.answer", text)
			continue
		}
		for _, b := range builtins {
			if name == b {
				p.refuse(n, "%q always has a value and cannot be saved", name)
			}
		}
		step.Saves = append(step.Saves, Save{Line: n, Name: name, Path: from})
	}
	if len(step.Saves) == 0 {
		p.refuse(sec.line, "save names nothing")
	}
}

func (p *parser) parseRepeat(step *Step, sec section, arg string) {
	arg, step.AtOnce = strings.CutSuffix(arg, " at once")
	k, err := strconv.Atoi(arg)
	if err != nil || k < 2 || k > 100000 {
		p.refuse(sec.line, "repeat takes a count of at least 2, not %q", arg)
		return
	}
	if step.Kind != Call && step.Kind != Bad {
		p.refuse(sec.line, "only a call can be repeated")
	}
	if strings.TrimSpace(sec.body) != "" {
		p.refuse(sec.line, "repeat has no body")
	}
	if step.AtOnce && k > 64 {
		p.refuse(sec.line, "at most 64 calls run at once")
	}
	step.Repeat = k
}
