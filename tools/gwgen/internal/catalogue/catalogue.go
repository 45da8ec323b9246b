// Package catalogue reads operations.yaml, errors.yaml and limits.yaml, and joins the sources that the rows name.
package catalogue

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/problem"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
	"go.yaml.in/yaml/v3"
)

// Areas are the families of operations, in the order of op.Area.
var Areas = []string{"workbench", "jobs", "operator", "storage"}

// Binding says where an operation stands on one protocol, or why it does not.
type Binding struct {
	Withheld string `yaml:"withheld"`

	OperationID string `yaml:"operationId"` // http
	Method      string `yaml:"method"`      // http
	Path        string `yaml:"path"`        // http
	RPC         string `yaml:"rpc"`         // connect
	Profile     string `yaml:"profile"`     // mcp
	Tool        string `yaml:"tool"`        // mcp
	Command     string `yaml:"command"`     // ws
}

// Served says whether the protocol carries the operation.
func (b *Binding) Served() bool {
	return b != nil && (b.OperationID != "" || b.RPC != "" || b.Tool != "" || b.Command != "")
}

// Annotations are the hints that MCP clients get.
type Annotations struct {
	ReadOnly    bool `yaml:"read_only"`
	Destructive bool `yaml:"destructive"`
	Idempotent  bool `yaml:"idempotent"`
	OpenWorld   bool `yaml:"open_world"`
}

// Deviation is a member that one wire may spell otherwise, with the reason.
type Deviation struct {
	Member string `yaml:"member"`
	Wire   string `yaml:"wire"`
	Reason string `yaml:"reason"`
	Used   bool   `yaml:"-"`
}

// Operation is a row.
type Operation struct {
	ID          string       `yaml:"id"`
	Native      string       `yaml:"native"`
	Result      string       `yaml:"result"`
	Title       string       `yaml:"title"`
	Description string       `yaml:"description"`
	Effect      string       `yaml:"effect"`
	Built       *bool        `yaml:"built"`
	HTTP        *Binding     `yaml:"http"`
	Connect     *Binding     `yaml:"connect"`
	MCP         *Binding     `yaml:"mcp"`
	WS          *Binding     `yaml:"ws"`
	Annotations Annotations  `yaml:"annotations"`
	Reasons     []string     `yaml:"reasons"`
	Requires    []string     `yaml:"requires"`
	Deviations  []*Deviation `yaml:"deviations"`

	Area     string       `yaml:"-"`
	Verb     string       `yaml:"-"`
	Line     int          `yaml:"-"`
	Request  *schema.Type `yaml:"-"`
	Response *schema.Type `yaml:"-"`
}

// IsBuilt says whether the operation does its work yet.
func (o *Operation) IsBuilt() bool { return o.Built == nil || *o.Built }

// Stream says whether the operation has no JSON request.
func (o *Operation) Stream() bool { return o.Effect == "stream" }

// Wire is one protocol's binding of an operation.
type Wire struct {
	Name    string
	Binding *Binding
}

// Wires lists the four protocols.
func (o *Operation) Wires() []Wire {
	return []Wire{{"http", o.HTTP}, {"connect", o.Connect}, {"mcp", o.MCP}, {"ws", o.WS}}
}

// Deviates finds the row that permits a wire to differ at a member, and marks it used. member is a path without "$.";
// a row for "items" also covers what lies below it.
func (o *Operation) Deviates(wire, member string) bool {
	for _, d := range o.Deviations {
		if d.Wire == wire && (d.Member == member || strings.HasPrefix(member, d.Member+".") || strings.HasPrefix(member, d.Member+"[")) {
			d.Used = true
			return true
		}
	}
	return false
}

// Reason is a row of errors.yaml.
type Reason struct {
	Name      string            `yaml:"reason"`
	Text      string            `yaml:"text"`
	Retryable bool              `yaml:"retryable"`
	Details   yaml.Node         `yaml:"details"`
	HTTP      int               `yaml:"http"`
	Connect   string            `yaml:"connect"`
	Code      map[string]string `yaml:"code"`

	Members []Detail `yaml:"-"`
	Line    int      `yaml:"-"`
}

// Detail is a member of a reason's details.
type Detail struct {
	Name, Kind string
	Optional   bool
}

// Limit is a row of limits.yaml.
type Limit struct {
	Name   string `yaml:"name"`
	Value  int64  `yaml:"value"`
	Unit   string `yaml:"unit"`
	Source string `yaml:"source"`
	What   string `yaml:"what"`
}

// Catalogue is everything that the generators need.
type Catalogue struct {
	Operations []*Operation
	Reasons    []*Reason
	Limits     []*Limit
	// Documents by path below spec.
	Documents map[string]*schema.Document

	dir string
}

// Load reads the catalogue below dir, the spec directory, and resolves the native sources of its rows. What is wrong
// goes to problems; an error means that a file could not be read at all.
func Load(dir string, problems *problem.List) (*Catalogue, error) {
	c := &Catalogue{dir: dir, Documents: map[string]*schema.Document{}}
	if err := c.loadReasons(problems); err != nil {
		return nil, err
	}
	if err := c.loadLimits(problems); err != nil {
		return nil, err
	}
	if err := c.loadOperations(problems); err != nil {
		return nil, err
	}
	return c, nil
}

// Document loads a source once.
func (c *Catalogue) Document(name string) (*schema.Document, error) {
	if d := c.Documents[name]; d != nil {
		return d, nil
	}
	d, err := schema.Load(filepath.Join(c.dir, filepath.FromSlash(name)), name)
	if err != nil {
		return nil, err
	}
	c.Documents[name] = d
	return d, nil
}

// list decodes the rows under key, each with its line.
func list[T any](d *schema.Document, key string, row func(n *yaml.Node, v *T)) ([]*T, error) {
	n := schema.Get(d.Root, key)
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s: needs a list under %s", d.Name, key)
	}
	var out []*T
	for _, r := range n.Content {
		v := new(T)
		if err := strict(r, v); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", d.Name, r.Line, err)
		}
		row(r, v)
		out = append(out, v)
	}
	return out, nil
}

// strict decodes a node and refuses unknown keys, which yaml.Node.Decode would let pass.
func strict(n *yaml.Node, v any) error {
	b, err := yaml.Marshal(n)
	if err != nil {
		return err
	}
	dec := yaml.NewDecoder(strings.NewReader(string(b)))
	dec.KnownFields(true)
	return dec.Decode(v)
}

func (c *Catalogue) loadReasons(problems *problem.List) error {
	d, err := c.Document("errors.yaml")
	if err != nil {
		return err
	}
	c.Reasons, err = list(d, "reasons", func(n *yaml.Node, r *Reason) { r.Line = n.Line })
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, r := range c.Reasons {
		where := "errors.yaml#" + r.Name
		if seen[r.Name] {
			problems.Add(problem.Duplicate, where, "the reason has two rows")
		}
		seen[r.Name] = true
		if r.Text == "" {
			problems.Add(problem.Reason, where, "needs a public text")
		}
		if r.HTTP < 400 || r.HTTP > 599 {
			problems.Add(problem.Reason, where, "http status %d is not an error's", r.HTTP)
		}
		if !connectCodes[r.Connect] {
			problems.Add(problem.Reason, where, "connect code %q does not exist", r.Connect)
		}
		if len(r.Code) == 0 {
			problems.Add(problem.Reason, where, "needs a public code for at least one area")
		}
		for a := range r.Code {
			if areaIndex(a) < 0 {
				problems.Add(problem.Reason, where, "area %q does not exist", a)
			}
		}
		for _, p := range schema.Pairs(&r.Details) {
			kind, optional := strings.CutSuffix(p.Value.Value, "?")
			if kind != "string" && kind != "integer" && kind != "boolean" {
				problems.Add(problem.Reason, where, "detail %s has the unknown kind %q", p.Key, p.Value.Value)
			}
			r.Members = append(r.Members, Detail{p.Key, kind, optional})
		}
	}
	for _, must := range []string{"INTERNAL", "INVALID_ARGUMENTS", "UNIMPLEMENTED"} {
		if !seen[must] {
			problems.Add(problem.Reason, "errors.yaml", "the reason %s must be registered", must)
		}
	}
	return nil
}

var connectCodes = map[string]bool{"canceled": true, "unknown": true, "invalid_argument": true, "deadline_exceeded": true, "not_found": true,
	"already_exists": true, "permission_denied": true, "resource_exhausted": true, "failed_precondition": true, "aborted": true,
	"out_of_range": true, "unimplemented": true, "internal": true, "unavailable": true, "data_loss": true, "unauthenticated": true}

func areaIndex(name string) int {
	for i, a := range Areas {
		if a == name {
			return i
		}
	}
	return -1
}

func (c *Catalogue) loadLimits(problems *problem.List) error {
	d, err := c.Document("limits.yaml")
	if err != nil {
		return err
	}
	c.Limits, err = list(d, "limits", func(*yaml.Node, *Limit) {})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, l := range c.Limits {
		where := "limits.yaml#" + l.Name
		if seen[l.Name] {
			problems.Add(problem.Duplicate, where, "the limit has two rows")
		}
		seen[l.Name] = true
		if l.Unit == "" || l.Source == "" {
			problems.Add(problem.Limit, where, "needs a unit and a source")
		}
	}
	return nil
}

func (c *Catalogue) loadOperations(problems *problem.List) error {
	d, err := c.Document("operations.yaml")
	if err != nil {
		return err
	}
	c.Operations, err = list(d, "operations", func(n *yaml.Node, o *Operation) { o.Line = n.Line })
	if err != nil {
		return err
	}
	registered := map[string]*Reason{}
	for _, r := range c.Reasons {
		registered[r.Name] = r
	}
	seen := map[string]bool{}
	for _, o := range c.Operations {
		where := "operations.yaml#" + o.ID
		if seen[o.ID] {
			problems.Add(problem.Duplicate, where, "the operation has two rows")
		}
		seen[o.ID] = true
		area, verb, ok := strings.Cut(o.ID, ".")
		if !ok || areaIndex(area) < 0 || verb == "" {
			problems.Add(problem.Syntax, where, "an id is area.verb, with one of the areas %s", strings.Join(Areas, ", "))
			continue
		}
		o.Area, o.Verb = area, verb
		if o.Effect != "read" && o.Effect != "write" && o.Effect != "stream" {
			problems.Add(problem.Syntax, where, "effect %q is none of read, write, stream", o.Effect)
		}
		for _, r := range o.Reasons {
			if reg := registered[r]; reg == nil {
				problems.Add(problem.Reason, where, "reason %s is not registered in errors.yaml", r)
			} else if reg.Code[o.Area] == "" {
				problems.Add(problem.Reason, where, "reason %s has no public code for the area %s", r, o.Area)
			}
		}
		for _, w := range o.Wires() {
			switch {
			case w.Binding == nil:
				problems.Add(problem.Withheld, where, "says nothing of %s; a protocol that does not carry an operation is withheld with a reason", w.Name)
			case !w.Binding.Served() && strings.TrimSpace(w.Binding.Withheld) == "":
				problems.Add(problem.Withheld, where, "is withheld from %s without a reason", w.Name)
			case w.Binding.Served() && w.Binding.Withheld != "":
				problems.Add(problem.Withheld, where, "is withheld from %s and yet bound to it", w.Name)
			}
		}
		for _, dev := range o.Deviations {
			if dev.Member == "" || dev.Wire == "" || strings.TrimSpace(dev.Reason) == "" {
				problems.Add(problem.Deviation, where, "a deviation needs a member, a wire and a reason")
			}
		}
		c.resolve(o, problems)
	}
	return nil
}

// resolve reads the operation's native request and result.
func (c *Catalogue) resolve(o *Operation, problems *problem.List) {
	where := "operations.yaml#" + o.ID
	file, name, ok := strings.Cut(o.Native, "#")
	if !ok {
		problems.Add(problem.NamesNothing, where, "native %q does not name a file and a place in it", o.Native)
		return
	}
	d, err := c.Document(file)
	if err != nil {
		problems.Add(problem.NamesNothing, where, "native %s: the source cannot be read: %v", o.Native, unpath(err))
		return
	}
	if strings.HasPrefix(file, "openapi/") {
		oper := FindOperation(d, name)
		if oper == nil {
			problems.Add(problem.NamesNothing, where, "native %s names no operation", o.Native)
			return
		}
		if o.Stream() {
			return
		}
		if o.Request, err = oper.Request(d); err != nil {
			problems.Add(problem.Syntax, where, "%v", err)
		}
		if o.Response, err = oper.Response(d); err != nil {
			problems.Add(problem.Syntax, where, "%v", err)
		}
	} else {
		n := FindTool(d, name)
		if n == nil {
			problems.Add(problem.NamesNothing, where, "native %s names no tool", o.Native)
			return
		}
		if o.Request, err = d.Type(schema.Get(n, "inputSchema")); err != nil {
			problems.Add(problem.Syntax, where, "%v", err)
		}
	}
	if o.Result != "" {
		file, name, _ := strings.Cut(o.Result, "#")
		d, err := c.Document(file)
		if err != nil {
			problems.Add(problem.NamesNothing, where, "result %s: the source cannot be read: %v", o.Result, unpath(err))
			return
		}
		n := schema.Get(d.Root, "$defs", name)
		if n == nil {
			problems.Add(problem.NamesNothing, where, "result %s names nothing", o.Result)
			return
		}
		if o.Response, err = d.Type(n); err != nil {
			problems.Add(problem.Syntax, where, "%v", err)
		}
	}
	if o.Request != nil {
		if at := openObject(o.Request, "$"); at != "" {
			problems.Add(problem.Syntax, where, "the request must close its objects with additionalProperties: false, %s does not", at)
		}
	}
	for side, t := range map[string]*schema.Type{"request": o.Request, "result": o.Response} {
		if t == nil {
			problems.Add(problem.NamesNothing, where, "has no %s", side)
		} else if t.Kind != schema.Object {
			problems.Add(problem.Syntax, where, "the %s must be an object with named members", side)
		}
	}
}

// openObject finds an object that would let unknown members pass.
func openObject(t *schema.Type, at string) string {
	if t.Kind == schema.Object && t.Open {
		return at
	}
	for _, f := range t.Fields {
		if p := openObject(f.Type, at+"."+f.Name); p != "" {
			return p
		}
	}
	if t.Elem != nil {
		return openObject(t.Elem, at+"[]")
	}
	return ""
}

// unpath drops the machine's directory from an error about a file, so that messages are the same everywhere.
func unpath(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 {
		return s[i+2:]
	}
	return s
}

// FindTool finds a tool of a tool schema by its name.
func FindTool(d *schema.Document, name string) *yaml.Node {
	tools := schema.Get(d.Root, "tools")
	if tools == nil {
		return nil
	}
	for _, t := range tools.Content {
		if schema.Str(t, "name") == name {
			return t
		}
	}
	return nil
}
