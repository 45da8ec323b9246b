//go:build gwgen_template

package bindhttp

import (
	"net/http"
	"strconv"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// parameters reads the path and query parameters of a request, strictly: none twice, none unknown.
type parameters struct {
	values map[string]string
	inv    *op.Invalid
}

func refuse(name, rule, words string) *op.Invalid {
	member := "$." + name
	return &op.Invalid{Member: member, Rule: rule, Text: member + ": " + words}
}

func readParameters(r *http.Request, path, query []string) *parameters {
	p := &parameters{values: map[string]string{}}
	for _, name := range path {
		p.values[name] = r.PathValue(name)
	}
	for name, list := range r.URL.Query() {
		known := false
		for _, q := range query {
			known = known || q == name
		}
		switch {
		case !known:
			p.fail(name, "unknown", "is not a parameter of this operation")
		case len(list) > 1:
			p.fail(name, "duplicate", "is given twice")
		default:
			p.values[name] = list[0]
		}
	}
	return p
}

// fail keeps the error with the smallest name, so that the answer does not depend on map order.
func (p *parameters) fail(name, rule, words string) {
	if inv := refuse(name, rule, words); p.inv == nil || inv.Member < p.inv.Member {
		p.inv = inv
	}
}

func (p *parameters) str(name string) *string {
	if v, ok := p.values[name]; ok {
		return &v
	}
	return nil
}

func (p *parameters) integer(name string) *int64 {
	v, ok := p.values[name]
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || v != strconv.FormatInt(n, 10) {
		p.fail(name, "type", "must be an integer")
		return nil
	}
	return &n
}

func (p *parameters) integer32(name string) *int32 {
	n := p.integer(name)
	if n == nil {
		return nil
	}
	if *n > 1<<31-1 || *n < -1<<31 {
		p.fail(name, "type", "must be an integer of 32 bits")
		return nil
	}
	small := int32(*n)
	return &small
}

func (p *parameters) boolean(name string) *bool {
	v, ok := p.values[name]
	if !ok {
		return nil
	}
	if v != "true" && v != "false" {
		p.fail(name, "type", "must be true or false")
		return nil
	}
	b := v == "true"
	return &b
}

// need gives the value of a required parameter.
func need[T any](p *parameters, name string, v *T) T {
	if v == nil {
		p.fail(name, "missing", "is required")
		var zero T
		return zero
	}
	return *v
}
