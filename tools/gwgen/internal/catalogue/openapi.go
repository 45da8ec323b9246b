package catalogue

import (
	"fmt"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
	"go.yaml.in/yaml/v3"
)

// HTTPOperation is one method of one path of an OpenAPI document.
type HTTPOperation struct {
	ID, Method, Path string
	Node             *yaml.Node
	shared           *yaml.Node // parameters of the path
}

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// HTTPOperations lists a document's operations in its own order.
func HTTPOperations(d *schema.Document) (out []*HTTPOperation) {
	for _, p := range schema.Pairs(schema.Get(d.Root, "paths")) {
		for _, m := range schema.Pairs(p.Value) {
			for _, known := range methods {
				if m.Key == known {
					out = append(out, &HTTPOperation{ID: schema.Str(m.Value, "operationId"), Method: strings.ToUpper(m.Key), Path: p.Key, Node: m.Value, shared: schema.Get(p.Value, "parameters")})
				}
			}
		}
	}
	return out
}

// FindOperation finds an operation by its operationId.
func FindOperation(d *schema.Document, id string) *HTTPOperation {
	for _, o := range HTTPOperations(d) {
		if o.ID == id {
			return o
		}
	}
	return nil
}

// Parameter is a path or query parameter.
type Parameter struct {
	In string
	*schema.Field
}

// Parameters lists the path and query parameters.
func (o *HTTPOperation) Parameters(d *schema.Document) (out []Parameter, err error) {
	for _, list := range []*yaml.Node{o.shared, schema.Get(o.Node, "parameters")} {
		if list == nil {
			continue
		}
		for _, p := range list.Content {
			if ref := schema.Str(p, "$ref"); ref != "" {
				if p = d.Pointer(ref); p == nil {
					return nil, fmt.Errorf("%s: %s: reference %q names nothing", d.Name, o.ID, ref)
				}
			}
			in := schema.Str(p, "in")
			if in != "path" && in != "query" {
				continue
			}
			t, err := d.Type(schema.Get(p, "schema"))
			if err != nil {
				return nil, err
			}
			out = append(out, Parameter{in, &schema.Field{Name: schema.Str(p, "name"), Doc: schema.Str(p, "description"), Required: schema.Str(p, "required") == "true", Type: t}})
		}
	}
	return out, nil
}

// Request is the object of all arguments: parameters and the members of a JSON body.
func (o *HTTPOperation) Request(d *schema.Document) (*schema.Type, error) {
	params, err := o.Parameters(d)
	if err != nil {
		return nil, err
	}
	body := schema.Get(o.Node, "requestBody")
	if ref := schema.Str(body, "$ref"); ref != "" {
		body = d.Pointer(ref)
	}
	t := &schema.Type{Kind: schema.Object}
	if body != nil {
		s := schema.Get(body, "content", "application/json", "schema")
		if s == nil {
			return nil, fmt.Errorf("%s: %s: the body is not JSON", d.Name, o.ID)
		}
		b, err := d.Type(s)
		if err != nil {
			return nil, err
		}
		if b.Kind != schema.Object {
			return nil, fmt.Errorf("%s: %s: the body must be an object with named members", d.Name, o.ID)
		}
		c := *b
		t = &c
	}
	for _, p := range params {
		t.Fields = append(t.Fields, p.Field)
	}
	return t, nil
}

// Response is the success object.
func (o *HTTPOperation) Response(d *schema.Document) (*schema.Type, error) {
	r := schema.Get(o.Node, "responses", "200")
	if ref := schema.Str(r, "$ref"); ref != "" {
		r = d.Pointer(ref)
	}
	s := schema.Get(r, "content", "application/json", "schema")
	if s == nil {
		return nil, fmt.Errorf("%s: %s: there is no 200 answer in JSON", d.Name, o.ID)
	}
	return d.Type(s)
}

// HTTPOperation finds the OpenAPI operation that a row names.
func (c *Catalogue) HTTPOperation(o *Operation) (*HTTPOperation, *schema.Document, error) {
	name := "openapi/" + o.Area + ".yaml"
	d, err := c.Document(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %s", name, unpath(err))
	}
	h := FindOperation(d, o.HTTP.OperationID)
	if h == nil {
		return nil, nil, fmt.Errorf("%s has no operation %s", d.Name, o.HTTP.OperationID)
	}
	return h, d, nil
}

// MultiSegment names the path parameters that stand for the rest of the path, slashes included. OpenAPI cannot say so;
// the parameter carries x-multi-segment.
func (o *HTTPOperation) MultiSegment(d *schema.Document) (out []string) {
	for _, list := range []*yaml.Node{o.shared, schema.Get(o.Node, "parameters")} {
		if list == nil {
			continue
		}
		for _, p := range list.Content {
			if ref := schema.Str(p, "$ref"); ref != "" {
				p = d.Pointer(ref)
			}
			if schema.Str(p, "x-multi-segment") == "true" {
				out = append(out, schema.Str(p, "name"))
			}
		}
	}
	return out
}
