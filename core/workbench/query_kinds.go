package workbench

import (
	"bytes"
	"context"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/keys"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// kinds is the set of types that a custom field has.
type kinds [record.KindString + 1]bool

// one returns the type of the values that are not null, or null when there are
// none; not ok when there are several.
func (ks kinds) one() (kind record.Kind, ok bool) {
	ok = true
	for k := record.KindNull + 1; k <= record.KindString; k++ {
		if ks[k] {
			ok = ok && kind == record.KindNull
			kind = k
		}
	}
	return kind, ok
}

func (ks kinds) any() bool { return ks != kinds{} }

// mixed says that a custom field has several types, which no query makes sense
// of.
func mixed(id string) error {
	return fault.New(op.ReasonWBInvalidState, "The custom field "+id+" has values of several types in this scope; narrow the scope, or store values of one type.")
}

// resolve finds out the types of the custom fields that the query names, and
// reads their operands. It does so once.
//
// Errors: InvalidArguments for a field that no file of the root has, and for an
// operand of another type; InvalidState for a field of several types.
func (q *query) resolve(ctx context.Context) error {
	if q.resolved {
		return nil
	}
	q.resolved = true
	if len(q.columns) == 0 {
		return nil
	}
	ids := make([]string, len(q.columns))
	for i := range q.columns {
		ids[i] = q.columns[i].id
	}
	found, err := q.kindsOf(ctx, ids, scope{})
	if err != nil {
		return err
	}
	// Of most fields all values have one type, and then it is that of the scope.
	var several []string
	for i, id := range ids {
		if !found[i].any() {
			return unknownField(q.columns[i].member)
		}
		kind, ok := found[i].one()
		if q.columns[i].kind = kind; !ok {
			several = append(several, id)
		}
	}
	if len(several) > 0 {
		narrow, err := q.kindsOf(ctx, several, q.scope)
		if err != nil {
			return err
		}
		for n, id := range several {
			kind, ok := narrow[n].one()
			if !ok {
				return mixed(id)
			}
			for i := range q.columns {
				if q.columns[i].id == id {
					q.columns[i].kind = kind
				}
			}
		}
	}
	for i := range q.predicates {
		if p := &q.predicates[i]; p.field >= fieldCustom {
			if err := p.resolve(q.columns); err != nil {
				return err
			}
		}
	}
	return nil
}

// kindsOf finds out which types custom fields have in a scope, by the first row
// of each in the index.
func (q *query) kindsOf(ctx context.Context, ids []string, s scope) ([]kinds, error) {
	found := make([]kinds, len(ids))
	var pieces []piece
	for i, id := range ids {
		field := keys.AppendIndexCustomField(nil, q.t.root.ID(), id)
		for k := range len(found[i]) {
			lower := append(bytes.Clone(field), beginOf(record.Kind(k))...)
			pieces = append(pieces, piece{span: span{lower: lower, upper: keys.AppendEnd(nil, lower)}, tag: i*len(found[i]) + k})
		}
	}
	w := walk{q: q, ctx: ctx, feed: &given{pieces}, visit: func(v *kv.View, p *piece, it *kv.Iter) error {
		_, id, in, path, err := keys.CutIndexed(it.Key())
		if err != nil {
			return corrupt(err)
		}
		if !s.covers(&row{id: id, path: path}) {
			return nil
		}
		if ok, err := q.lives(v, id, in); err != nil || !ok {
			return err
		}
		found[p.tag/len(kinds{})][p.tag%len(kinds{})] = true
		return errNext
	}}
	for !w.over {
		if err := q.read(ctx, w.part); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// given feeds some pieces, once.
type given struct{ pieces []piece }

func (g *given) next(*kv.View) ([]piece, error) {
	ps := g.pieces
	g.pieces = nil
	return ps, nil
}
