package contract

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Contract is everything a specification tree says. It is safe for concurrent use.
type Contract struct {
	operations   map[string]*Operation
	order        []*Operation
	reasons      map[string]*Reason
	requirements map[string]*Requirement
	documents    map[string]*document
	frames       *schema // any frame that the server may send on the WebSocket
	envelope     *schema // the five-key error of the workbench
}

// Operation is one row of the catalogue with its schemas.
type Operation struct {
	ID      string
	Area    string
	Effect  string // read, write or stream
	Built   bool
	Method  string // of HTTP; empty when withheld
	Path    string
	RPC     string // SERVICE/METHOD on Connect; empty when withheld
	Profile string // of MCP
	Tool    string // of MCP; empty when withheld
	Command string // on the WebSocket; empty when withheld
	Reasons []string

	contract *Contract
	input    *schema // nil when there are no arguments
	result   *schema // nil for a stream
	openapi  *document
	api      string // operationId
}

// Reason is one row of the registry of refusals.
type Reason struct {
	Name      string            `yaml:"reason"`
	Text      string            `yaml:"text"`
	Retryable bool              `yaml:"retryable"`
	Details   map[string]string `yaml:"details"` // member → string, integer or boolean; a trailing ? lets it be absent or null
	HTTP      int               `yaml:"http"`
	Connect   string            `yaml:"connect"`
	Code      map[string]string `yaml:"code"` // area → public word
}

// Requirement is one numbered line.
type Requirement struct {
	ID    string
	File  string
	Line  int
	Slice bool // belongs to what is built
}

type row struct {
	ID     string `yaml:"id"`
	Native string `yaml:"native"`
	Result string `yaml:"result"`
	Effect string `yaml:"effect"`
	Built  *bool  `yaml:"built"`
	HTTP   struct {
		OperationID  string `yaml:"operationId"`
		Method, Path string
	} `yaml:"http"`
	Connect struct {
		RPC string `yaml:"rpc"`
	} `yaml:"connect"`
	MCP     struct{ Profile, Tool string } `yaml:"mcp"`
	WS      struct{ Command string }       `yaml:"ws"`
	Reasons []string                       `yaml:"reasons"`
}

// Load reads a specification tree: spec.FS, or that directory.
// Errors: a source that is missing, cannot be read, or refers to something that is not there.
func Load(tree fs.FS) (*Contract, error) {
	c := &Contract{
		operations:   map[string]*Operation{},
		reasons:      map[string]*Reason{},
		requirements: map[string]*Requirement{},
		documents:    map[string]*document{},
	}
	if err := c.loadReasons(tree); err != nil {
		return nil, err
	}
	if err := c.loadRequirements(tree); err != nil {
		return nil, err
	}
	if err := c.loadOperations(tree); err != nil {
		return nil, err
	}
	return c, c.loadFrames(tree)
}

func loadYAML(tree fs.FS, name string, into any) error {
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (c *Contract) loadReasons(tree fs.FS) error {
	var registry struct{ Reasons []*Reason }
	if err := loadYAML(tree, "errors.yaml", &registry); err != nil {
		return err
	}
	for _, r := range registry.Reasons {
		c.reasons[r.Name] = r
	}
	return nil
}

var requirementLine = regexp.MustCompile(`^- \*\*(R-[A-Z]+-[A-Z0-9]+-[0-9]+)\*\*(.*)$`)

func (c *Contract) loadRequirements(tree fs.FS) error {
	files, err := fs.Glob(tree, "requirements/*.md")
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			n++
			m := requirementLine.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			if other := c.requirements[m[1]]; other != nil {
				return fmt.Errorf("%s:%d: %s is given twice, first in %s:%d", file, n, m[1], other.File, other.Line)
			}
			c.requirements[m[1]] = &Requirement{ID: m[1], File: file, Line: n, Slice: strings.Contains(m[2], "[slice]")}
		}
	}
	return nil
}

func (c *Contract) loadOperations(tree fs.FS) error {
	var catalogue struct{ Operations []row }
	if err := loadYAML(tree, "operations.yaml", &catalogue); err != nil {
		return err
	}
	for _, r := range catalogue.Operations {
		op := &Operation{
			ID: r.ID, Effect: r.Effect, Built: r.Built == nil || *r.Built, Method: r.HTTP.Method, Path: r.HTTP.Path,
			RPC: r.Connect.RPC, Profile: r.MCP.Profile, Tool: r.MCP.Tool, Command: r.WS.Command, Reasons: r.Reasons,
			contract: c, api: r.HTTP.OperationID,
		}
		op.Area, _, _ = strings.Cut(r.ID, ".")
		if err := c.loadSchemas(tree, op, r); err != nil {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
		c.operations[op.ID] = op
		c.order = append(c.order, op)
	}
	return nil
}

func (c *Contract) loadSchemas(tree fs.FS, op *Operation, r row) error {
	var err error
	if op.Method != "" {
		if op.openapi, err = c.document(tree, path.Join("openapi", op.Area+".yaml")); err != nil {
			return err
		}
	}
	if op.Effect == "stream" {
		return nil
	}
	file, name, _ := strings.Cut(r.Native, "#")
	if strings.HasSuffix(file, "tools.schema.json") {
		doc, err := c.document(tree, file)
		if err != nil {
			return err
		}
		at, err := doc.tool(name)
		if err != nil {
			return err
		}
		if op.input, err = doc.compile(at); err != nil {
			return err
		}
	}
	if strings.HasPrefix(file, "openapi/") && op.openapi != nil {
		at, ok, err := op.openapi.request(op)
		if err != nil {
			return err
		}
		if ok {
			if op.input, err = op.openapi.compile(at); err != nil {
				return err
			}
		}
	}
	if r.Result == "" {
		at, err := op.openapi.response(op, "200")
		if err != nil {
			return err
		}
		op.result, err = op.openapi.compile(at + "/content/application~1json/schema")
		return err
	}
	file, name, _ = strings.Cut(r.Result, "#")
	doc, err := c.document(tree, file)
	if err != nil {
		return err
	}
	if op.result, err = doc.compile("/$defs/" + name); err != nil {
		return err
	}
	if c.envelope == nil {
		c.envelope, err = doc.compile("/$defs/error")
	}
	return err
}

// Operation finds an operation by its id.
func (c *Contract) Operation(id string) (*Operation, bool) {
	op, ok := c.operations[id]
	return op, ok
}

// Operations lists all operations in the order of the catalogue.
func (c *Contract) Operations() []*Operation { return slices.Clone(c.order) }

// Reason finds a row of the registry.
func (c *Contract) Reason(name string) (*Reason, bool) {
	r, ok := c.reasons[name]
	return r, ok
}

// Requirement finds a requirement line.
func (c *Contract) Requirement(id string) (*Requirement, bool) {
	r, ok := c.requirements[id]
	return r, ok
}

// Requirements lists all requirement lines by id.
func (c *Contract) Requirements() []*Requirement {
	out := make([]*Requirement, 0, len(c.requirements))
	for _, r := range c.requirements {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Requirement) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Check says what is wrong with a value as arguments of op (C1).
func (op *Operation) Check(args any) error {
	if op.input == nil {
		if object, ok := args.(map[string]any); !ok || len(object) > 0 {
			return fmt.Errorf("%s takes no arguments", op.ID)
		}
		return nil
	}
	return op.input.check(args)
}

// Streams reports that op has neither arguments nor a result in JSON.
func (op *Operation) Streams() bool { return op.Effect == "stream" }

// CheckResult says what is wrong with a value as the result of op.
func (op *Operation) CheckResult(result any) error {
	if op.result == nil {
		return fmt.Errorf("%s has no result in JSON", op.ID)
	}
	return op.result.check(result)
}

// CheckEnvelope says what is wrong with a value as the five-key error of the workbench.
func (c *Contract) CheckEnvelope(v any) error { return c.envelope.check(v) }

// CheckDetails compares the details of a refusal with those that the registry lists for its reason.
func (r *Reason) CheckDetails(details map[string]any) error {
	for name, kind := range r.Details {
		kind, optional := strings.CutSuffix(kind, "?")
		v, present := details[name]
		if !present || v == nil {
			if optional {
				continue
			}
			return fmt.Errorf("details.%s is missing; %s always gives it", name, r.Name)
		}
		if kindOf(v) != kind {
			return fmt.Errorf("details.%s is %v, want %s", name, v, kind)
		}
	}
	for name := range details {
		if _, ok := r.Details[name]; !ok {
			return fmt.Errorf("details.%s is not registered for %s", name, r.Name)
		}
	}
	return nil
}
