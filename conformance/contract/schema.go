package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// document is one source that holds schemas.
type document struct {
	name string
	root any

	mu       sync.Mutex // over compiler and compiled: answers of many runs are checked at once
	compiler *jsonschema.Compiler
	compiled map[string]*schema
}

// schema is a compiled schema that remembers where it stands, so that its raw form can be walked too.
type schema struct {
	doc  *document
	at   string // JSON pointer
	tree *jsonschema.Schema
}

func (c *Contract) document(tree fs.FS, name string) (*document, error) {
	if doc := c.documents[name]; doc != nil {
		return doc, nil
	}
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".yaml") {
		var v any
		if err := yaml.Unmarshal(data, &v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if data, err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource("mem:///"+name, root); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	doc := &document{name: name, root: root, compiler: compiler, compiled: map[string]*schema{}}
	c.documents[name] = doc
	return doc, nil
}

func (d *document) compile(at string) (*schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.compiled[at]; s != nil {
		return s, nil
	}
	tree, err := d.compiler.Compile("mem:///" + d.name + "#" + at)
	if err != nil {
		return nil, err
	}
	s := &schema{doc: d, at: at, tree: tree}
	d.compiled[at] = s
	return s, nil
}

// node follows a JSON pointer.
func (d *document) node(at string) (any, error) {
	v := d.root
	for part := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch n := v.(type) {
		case map[string]any:
			next, ok := n[part]
			if !ok {
				return nil, fmt.Errorf("%s has no %s", d.name, at)
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(n) {
				return nil, fmt.Errorf("%s has no %s", d.name, at)
			}
			v = n[i]
		default:
			return nil, fmt.Errorf("%s has no %s", d.name, at)
		}
	}
	return v, nil
}

// follow resolves a reference at a JSON pointer, and those it leads to.
func (d *document) follow(at string) (string, map[string]any, error) {
	for range 16 {
		v, err := d.node(at)
		if err != nil {
			return "", nil, err
		}
		object, ok := v.(map[string]any)
		if !ok {
			return "", nil, fmt.Errorf("%s#%s is no object", d.name, at)
		}
		ref, ok := object["$ref"].(string)
		if !ok {
			return at, object, nil
		}
		local, ok := strings.CutPrefix(ref, "#")
		if !ok {
			return "", nil, fmt.Errorf("%s#%s refers to another document: %s", d.name, at, ref)
		}
		at = local
	}
	return "", nil, fmt.Errorf("%s#%s refers in a circle", d.name, at)
}

func (d *document) tool(name string) (string, error) {
	v, err := d.node("/tools")
	if err != nil {
		return "", err
	}
	list, _ := v.([]any)
	for i, e := range list {
		if tool, _ := e.(map[string]any); tool["name"] == name {
			return fmt.Sprintf("/tools/%d/inputSchema", i), nil
		}
	}
	return "", fmt.Errorf("%s has no tool %s", d.name, name)
}

// escape makes a member name a part of a JSON pointer.
func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// pattern is a path of the catalogue as OpenAPI spells it.
func pattern(p string) string { return strings.Replace(p, "...}", "}", 1) }

// request finds the schema of an operation's body; ok is false when it takes none.
func (d *document) request(op *Operation) (at string, ok bool, err error) {
	at = "/paths/" + escape(pattern(op.Path)) + "/" + strings.ToLower(op.Method)
	_, object, err := d.follow(at)
	if err != nil || object["requestBody"] == nil {
		return "", false, err
	}
	at, _, err = d.follow(at + "/requestBody")
	return at + "/content/application~1json/schema", err == nil, err
}

// response finds the response object of an operation for a status, with references resolved.
func (d *document) response(op *Operation, status string) (string, error) {
	at := "/paths/" + escape(pattern(op.Path)) + "/" + strings.ToLower(op.Method)
	node, err := d.node(at)
	if err != nil {
		return "", err
	}
	if o, ok := node.(map[string]any); !ok || o["operationId"] != op.api {
		return "", fmt.Errorf("%s#%s is not %s", d.name, at, op.api)
	}
	at, _, err = d.follow(at + "/responses/" + status)
	return at, err
}

// CheckHTTP says what is wrong with an answer of op over HTTP (C3). The body of a file download is not JSON
// and is not looked at.
func (op *Operation) CheckHTTP(status int, contentType string, body []byte) error {
	if op.openapi == nil {
		return fmt.Errorf("%s is not served over HTTP", op.ID)
	}
	at, err := op.openapi.response(op, strconv.Itoa(status))
	if err != nil {
		return fmt.Errorf("the OpenAPI document lists no answer %d for %s", status, op.ID)
	}
	_, response, err := op.openapi.follow(at)
	if err != nil {
		return err
	}
	content, _ := response["content"].(map[string]any)
	if len(content) == 0 || op.Method == "HEAD" {
		if len(body) > 0 {
			return fmt.Errorf("answer %d of %s has a body of %d bytes where the document has none", status, op.ID, len(body))
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("content type %q: %w", contentType, err)
	}
	if _, ok := content[media]; !ok {
		if _, anything := content["*/*"]; anything {
			return nil
		}
		return fmt.Errorf("answer %d of %s is %s, which the document does not list", status, op.ID, media)
	}
	if media != "application/json" {
		return nil
	}
	v, err := value.Decode(body)
	if err != nil {
		return fmt.Errorf("answer %d of %s: %w", status, op.ID, err)
	}
	s, err := op.openapi.compile(at + "/content/" + escape(media) + "/schema")
	if err != nil {
		return err
	}
	return s.check(v)
}

// loadFrames compiles one schema of everything that the AsyncAPI document lets a server send.
func (c *Contract) loadFrames(tree fs.FS) error {
	doc, err := c.document(tree, "asyncapi/jobs.yaml")
	if err != nil {
		return err
	}
	v, err := doc.node("/operations")
	if err != nil {
		return err
	}
	operations, _ := v.(map[string]any)
	var sent []any
	add := func(list any) error {
		messages, _ := list.([]any)
		for _, m := range messages {
			ref, _ := m.(map[string]any)["$ref"].(string)
			at, _, err := doc.follow(strings.TrimPrefix(ref, "#"))
			if err != nil {
				return err
			}
			sent = append(sent, map[string]any{"$ref": "mem:///" + doc.name + "#" + at + "/payload"})
		}
		return nil
	}
	for _, name := range value.Keys(operations) {
		operation, _ := operations[name].(map[string]any)
		if operation["action"] == "send" {
			if err := add(operation["messages"]); err != nil {
				return err
			}
		}
		if reply, ok := operation["reply"].(map[string]any); ok {
			if err := add(reply["messages"]); err != nil {
				return err
			}
		}
	}
	if len(sent) == 0 {
		return errors.New("the AsyncAPI document lets the server send nothing")
	}
	const name = "mem:///frames"
	if err := doc.compiler.AddResource(name, map[string]any{"anyOf": sent}); err != nil {
		return err
	}
	tree2, err := doc.compiler.Compile(name)
	if err != nil {
		return err
	}
	c.frames = &schema{doc: doc, tree: tree2}
	return nil
}

// CheckFrame says what is wrong with a frame that the server sent on the WebSocket.
func (c *Contract) CheckFrame(frame any) error { return c.frames.check(frame) }

func (s *schema) check(v any) error {
	if err := s.tree.Validate(instance(v)); err != nil {
		return shorten(err)
	}
	// JSON Schema takes 1.0 for an integer; the contract takes literals (C1).
	return s.literals(v)
}

// instance gives a value the types that the validator knows.
func instance(v any) any {
	switch v := v.(type) {
	case value.Number:
		return json.Number(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = instance(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = instance(e)
		}
		return out
	}
	return v
}

var integerLiteral = regexp.MustCompile(`^-?[0-9]+$`)

// literals refuses a number that stands where the schema wants an integer and is not written as one.
func (s *schema) literals(v any) error {
	return s.walk(s.at, v, "$", func(node map[string]any, v any, at string) error {
		n, ok := v.(value.Number)
		if ok && admits(node, "integer") && !admits(node, "number") && !integerLiteral.MatchString(string(n)) {
			return fmt.Errorf("%s is %s, which is not written as an integer", at, n)
		}
		return nil
	})
}

// walk visits v together with the raw schema of each of its parts, as far as properties and items lead.
func (s *schema) walk(pointer string, v any, at string, visit func(node map[string]any, v any, at string) error) error {
	if s.at == "" {
		return nil
	}
	pointer, node, err := s.doc.follow(pointer)
	if err != nil {
		return nil // a boolean schema
	}
	if i, ok := orNull(node); ok && v != nil {
		return s.walk(fmt.Sprintf("%s/anyOf/%d", pointer, i), v, at, visit)
	}
	if err := visit(node, v, at); err != nil {
		return err
	}
	switch v := v.(type) {
	case map[string]any:
		properties, _ := node["properties"].(map[string]any)
		for _, key := range value.Keys(v) {
			if _, ok := properties[key]; ok {
				if err := s.walk(pointer+"/properties/"+escape(key), v[key], at+"."+key, visit); err != nil {
					return err
				}
			}
		}
	case []any:
		if _, ok := node["items"].(map[string]any); ok {
			for i, e := range v {
				if err := s.walk(pointer+"/items", e, fmt.Sprintf("%s[%d]", at, i), visit); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// orNull finds the schema of "this or null", and false when node is not of that form.
func orNull(node map[string]any) (branch int, ok bool) {
	branches, _ := node["anyOf"].([]any)
	if len(branches) != 2 {
		return 0, false
	}
	for i := range branches {
		if other, _ := branches[1-i].(map[string]any); len(other) == 1 && other["type"] == "null" {
			return i, true
		}
	}
	return 0, false
}

func admits(node map[string]any, kind string) bool {
	if _, ok := orNull(node); ok && kind == "null" {
		return true
	}
	switch t := node["type"].(type) {
	case string:
		return t == kind
	case []any:
		for _, e := range t {
			if e == kind {
				return true
			}
		}
	}
	return false
}

// Settle restores what a wire without null and without absent lists cannot say: a required member, or one that is
// absent only under a condition that does not hold, becomes null where the schema admits null; a list that is absent
// under a condition that holds is taken out when it is empty (C2). It changes and returns result.
func (op *Operation) Settle(result any) any {
	if op.result == nil {
		return result
	}
	// The visitor never fails.
	_ = op.result.walk(op.result.at, result, "$", func(node map[string]any, v any, _ string) error {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		properties, _ := node["properties"].(map[string]any)
		required := map[string]bool{}
		list, _ := node["required"].([]any)
		for _, name := range list {
			if name, ok := name.(string); ok {
				required[name] = true
			}
		}
		for name := range properties {
			property, _ := properties[name].(map[string]any)
			when, conditional := property["x-absent-when"].(string)
			gone := conditional && object[when] == true
			if member, present := object[name]; present {
				if list, ok := member.([]any); ok && gone && len(list) == 0 {
					delete(object, name)
				}
				continue
			}
			if gone || !conditional && !required[name] {
				continue
			}
			_, resolved, err := op.result.doc.resolve(property)
			if err == nil && admits(resolved, "null") {
				object[name] = nil
			}
		}
		return nil
	})
	return result
}

// resolve follows the reference of a schema that is held by value.
func (d *document) resolve(node map[string]any) (string, map[string]any, error) {
	ref, ok := node["$ref"].(string)
	if !ok {
		return "", node, nil
	}
	return d.follow(strings.TrimPrefix(ref, "#"))
}

func kindOf(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case value.Number:
		if integerLiteral.MatchString(string(v)) {
			return "integer"
		}
	}
	return "something else"
}

// shorten makes one line of a validator's report.
func shorten(err error) error {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "jsonschema validation failed") || line == "" {
			continue
		}
		lines = append(lines, strings.TrimPrefix(line, "- "))
	}
	return errors.New(strings.Join(lines, "; "))
}
