package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// Level says how deep a malformed input is broken, which decides who refuses it.
type Level string

const (
	// LevelValue is a well-formed message whose arguments are wrong: the operation refuses them by name.
	LevelValue Level = "value"
	// LevelSyntax is bytes that are not a JSON message at all: on a protocol that wraps arguments in a
	// message of its own, that protocol's parser refuses the whole.
	LevelSyntax Level = "syntax"
)

// Table is one file of malformed/: a request with holes and one row for every way to fill them.
type Table struct {
	File     string
	ID       string
	Prose    string
	Requires []string
	Op       string // rows are arguments of this operation …
	HTTP     bool   // … or whole HTTP requests
	Rows     []Row
}

// Row is one malformed input.
type Row struct {
	Line  int
	Name  string
	Wires []string // protocols, or all of those that carry the operation when empty
	Level Level
	// Accept says that the row is harmless and must succeed: the trap is to refuse, or to read more into it.
	Accept bool
	Reason string
	Names  []string
	// Arguments are the raw bytes of the arguments; nil in an HTTP table.
	Arguments []byte
	// Request is the raw HTTP request; nil otherwise.
	Request *Message
}

var rawByte = regexp.MustCompile(`\\x[0-9a-f]{2}`)

// ParseTable reads one file of malformed/ and checks it against c. The error is Problems.
//
// The last section, rows, has a head line and one line for each row, with cells between vertical bars. The
// columns case, reason, names, wires and level are ours; any other column fills the hole ${column}. In a cell
// \xNN (lowercase) is a raw byte; ${repeat:COUNT:TEXT} is long. The reason "accepted" marks a row that must
// succeed.
func ParseTable(file string, data []byte, c Catalogue) (*Table, error) {
	a := split(string(data))
	p := &parser{file: file, catalogue: c, s: &Scenario{File: file}, seen: map[string]int{}}
	t := &Table{File: file, Prose: strings.TrimSpace(a.comment)}
	if t.Prose == "" {
		p.refuse(1, "the file begins with a line that says what it shows")
	}
	var names []string
	for _, sec := range a.sections {
		names = append(names, sec.name)
	}
	http := slices.Equal(names, []string{"table", "request", "rows"})
	if !http && !slices.Equal(names, []string{"table", "arguments", "rows"}) {
		p.refuse(1, "a table has the sections table, arguments or request, and rows, in this order; this one has %s", strings.Join(names, ", "))
		return nil, p.problems
	}
	t.HTTP = http
	defaults := p.tableHeader(t, a.sections[0])
	p.rows(t, a.sections[1], a.sections[2], defaults)
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return t, nil
}

func (p *parser) tableHeader(t *Table, sec section) Row {
	row := Row{Level: LevelValue}
	keys := map[string]bool{}
	rest := section{name: sec.name, line: sec.line}
	n := sec.line
	headerLines(sec, func(line int, key, val string) {
		if keys[key] {
			p.refuse(line, "header %q appears twice", key)
		}
		keys[key] = true
		switch key {
		case "op":
			t.Op = val
			op, ok := p.catalogue.Operation(val)
			if !ok {
				p.refuse(line, "no operation %q", val)
			} else if op.Streams() {
				p.refuse(line, "%s has no arguments in JSON", val)
			}
		case "reason":
			p.rowReason(&row, line, val)
		case "wires":
			p.rowWires(&row, line, val)
		case "level":
			p.rowLevel(&row, line, val)
		case "id", "requires":
			// Keep the blank lines, so that the lines of refusals stay right.
			for ; n < line-1; n++ {
				rest.body += "\n"
			}
			rest.body += key + " " + val + "\n"
			n++
		default:
			p.refuse(line, "no header %q", key)
		}
	})
	p.parseHeader(rest)
	t.ID, t.Requires = p.s.ID, p.s.Requires
	if !t.HTTP && t.Op == "" {
		p.refuse(sec.line, `header "op" is missing`)
	}
	if t.HTTP && t.Op != "" {
		p.refuse(sec.line, "a table of requests names no operation")
	}
	return row
}

func (p *parser) rowReason(row *Row, line int, val string) {
	row.Accept = val == "accepted"
	row.Reason = val
	if row.Accept {
		row.Reason = ""
	} else if !p.catalogue.Reason(val) {
		p.refuse(line, "no reason %q", val)
	}
}

func (p *parser) rowWires(row *Row, line int, val string) {
	row.Wires = strings.Fields(val)
	for _, wire := range row.Wires {
		if !p.catalogue.Protocol(wire) {
			p.refuse(line, "no protocol %q", wire)
		}
	}
}

func (p *parser) rowLevel(row *Row, line int, val string) {
	row.Level = Level(val)
	if row.Level != LevelValue && row.Level != LevelSyntax {
		p.refuse(line, "no level %q; there are value and syntax", val)
	}
}

func (p *parser) rows(t *Table, body, sec section, defaults Row) {
	var columns []string
	cases := map[string]bool{}
	usedColumn := map[string]bool{}
	n := sec.line
	for text := range strings.Lines(sec.body) {
		n++
		text = strings.TrimRight(text, "\n")
		if strings.TrimSpace(text) == "" {
			continue
		}
		cells := strings.Split(text, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if columns == nil {
			columns = cells
			for i, column := range columns {
				if column != "case" && !value.IsName(column) || slices.Contains(columns[:i], column) {
					p.refuse(n, "no good column %q", column)
				}
			}
			if columns[0] != "case" {
				p.refuse(n, "the first column is case")
			}
			continue
		}
		if len(cells) != len(columns) {
			p.refuse(n, "%d cells under %d columns", len(cells), len(columns))
			continue
		}
		row := defaults
		row.Line = n
		holes := value.Names{}
		for i, cell := range cells {
			switch columns[i] {
			case "case":
				row.Name = cell
				if !idForm.MatchString("case/"+cell) || cases[cell] {
					p.refuse(n, "case %q is not a new name in kebab-case", cell)
				}
				cases[cell] = true
			case "reason":
				if cell != "" {
					p.rowReason(&row, n, cell)
				}
			case "names":
				row.Names = strings.Fields(cell)
			case "wires":
				if cell != "" {
					p.rowWires(&row, n, cell)
				}
			case "level":
				if cell != "" {
					p.rowLevel(&row, n, cell)
				}
			default:
				filled, err := p.cell(cell)
				if err != nil {
					p.refuse(n, "%v", err)
				}
				holes[columns[i]] = filled
			}
		}
		if row.Reason == "" && !row.Accept {
			p.refuse(n, "case %q has no reason", row.Name)
		}
		if row.Accept && len(row.Names) > 0 {
			p.refuse(n, "an accepted row has no message to name anything in")
		}
		p.fill(t, body, &row, holes, usedColumn)
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		p.refuse(sec.line, "a table has at least one row")
	}
	for _, column := range columns {
		switch column {
		case "case", "reason", "names", "wires", "level":
		default:
			if !usedColumn[column] {
				p.refuse(sec.line+1, "column %q fills no hole", column)
			}
		}
	}
}

// cell turns the text of a cell into bytes.
func (p *parser) cell(text string) (string, error) {
	t, err := value.ParseTemplate(text)
	if err != nil {
		return "", err
	}
	filled, err := t.Text(value.Names{})
	if err != nil {
		return "", err
	}
	return rawByte.ReplaceAllStringFunc(filled, func(s string) string {
		b, err := strconv.ParseUint(s[2:], 16, 8)
		if err != nil {
			return s
		}
		return string([]byte{byte(b)})
	}), nil
}

// fill puts the cells of a row into the holes of the request. The result is bytes, not a value, because that
// it may not be one is the point.
func (p *parser) fill(t *Table, body section, row *Row, holes value.Names, used map[string]bool) {
	tpl := p.template(body.line, strings.TrimSuffix(body.body, "\n"))
	if tpl == nil {
		return
	}
	tpl.Uses(func(name string) { used[name] = true })
	text, err := tpl.Text(holes)
	if err != nil {
		p.refuse(row.Line, "%v", err)
		return
	}
	if !t.HTTP {
		row.Arguments = []byte(text)
		return
	}
	// A request was filled already: what is left in it is text, so its dollar signs are doubled for the
	// template that a message keeps.
	sec := section{name: body.name, line: body.line, body: strings.ReplaceAll(text, "$", "$$")}
	row.Request = p.message(sec, true)
}

// String names the row in reports.
func (r Row) String() string { return fmt.Sprintf("line %d %s", r.Line, r.Name) }
