// Package parity refuses sources that do not say the same. An operation is described first in one place; every other
// wire that carries it must agree on each member's name, type, requiredness, nullability, closed set and bounds, as the
// lowering table of the architecture translates them. A row of deviations in the catalogue permits one difference, and a
// row that permits nothing is refused too.
package parity

import (
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/problem"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/protosrc"
)

// checker carries what every check needs.
type checker struct {
	cat      *catalogue.Catalogue
	pb       *protosrc.Source
	async    *catalogue.Async
	problems *problem.List
}

// Check compares all sources and adds what is wrong to problems.
func Check(c *catalogue.Catalogue, pb *protosrc.Source, async *catalogue.Async, problems *problem.List) {
	k := &checker{c, pb, async, problems}
	k.http()
	k.connect()
	k.mcp()
	k.ws()
	for _, o := range c.Operations {
		for _, d := range o.Deviations {
			if !d.Used {
				problems.Add(problem.Deviation, "operations.yaml#"+o.ID, "the deviation of %s on %s matches no difference", d.Member, d.Wire)
			}
		}
	}
}

// differs reports a difference unless the catalogue permits it.
func (k *checker) differs(o *catalogue.Operation, wire, source, path, format string, args ...any) {
	if o.Deviates(wire, strings.TrimPrefix(strings.TrimPrefix(path, "$"), ".")) {
		return
	}
	k.problems.Add(problem.Differs, source+" "+path, "("+o.ID+") "+format, args...)
}
