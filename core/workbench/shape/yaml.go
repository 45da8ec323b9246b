package shape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// A YAML document without aliases never needs more than five bytes of JSON for
// one of its own ("{a,b}" is the worst), so this much is always enough for an
// honest one and stops an alias bomb (S4).
func expansionBudget(body []byte) int { return 5*len(body) + 1<<20 }

func yamlDocument(body []byte, w window) (Page, error) {
	d := yaml.NewDecoder(bytes.NewReader(body))
	var document yaml.Node
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF):
		w.pass([]byte("null"))
		return w.page(RecordYAMLMapping), nil
	case err != nil:
		return Page{}, yamlError(err)
	}
	var second yaml.Node
	switch err := d.Decode(&second); {
	case err == nil:
		return Page{}, &DecodeError{"yaml", "The body holds more than one YAML document."}
	case !errors.Is(err, io.EOF):
		return Page{}, yamlError(err)
	}
	e := expander{budget: expansionBudget(body)}
	root := &document
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = root.Content[0]
	}
	records := []*yaml.Node{root}
	if root.Kind == yaml.SequenceNode {
		records = root.Content
	}
	var scratch []byte
	for _, n := range records {
		var err error
		if scratch, err = e.append(scratch[:0], n, 0); err != nil {
			return Page{}, err
		}
		var item []byte
		if w.wants() {
			item = bytes.Clone(scratch)
		}
		w.pass(item)
	}
	return w.page(RecordYAMLMapping), nil
}

// expander writes nodes as JSON and follows aliases as far as the budget lasts.
type expander struct {
	budget int
	open   []*yaml.Node // aliases being followed, to find a cycle
}

func (e *expander) spend(n int) error {
	if e.budget -= n; e.budget < 0 {
		return &DecodeError{"yaml", "The body's aliases expand to too much."}
	}
	return nil
}

func (e *expander) append(dst []byte, n *yaml.Node, depth int) ([]byte, error) {
	if depth >= MaxDepth && n.Kind != yaml.ScalarNode {
		return nil, tooDeepError("yaml")
	}
	if err := e.spend(1); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.AliasNode:
		for _, seen := range e.open {
			if seen == n.Alias {
				return nil, &DecodeError{"yaml", "An alias in the body contains itself."}
			}
		}
		e.open = append(e.open, n.Alias)
		dst, err := e.append(dst, n.Alias, depth)
		e.open = e.open[:len(e.open)-1]
		return dst, err
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, c := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = e.append(dst, c, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case yaml.MappingNode:
		return e.appendMapping(dst, n, depth)
	case yaml.ScalarNode:
		start := len(dst)
		dst, err := appendScalar(dst, n)
		if err != nil {
			return nil, err
		}
		return dst, e.spend(len(dst) - start)
	}
	return append(dst, "null"...), nil
}

func (e *expander) appendMapping(dst []byte, n *yaml.Node, depth int) ([]byte, error) {
	// Of duplicate keys the last value wins, at the place of the first.
	names := make([]string, 0, len(n.Content)/2)
	values := make([]*yaml.Node, 0, len(n.Content)/2)
	at := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, &DecodeError{"yaml", fmt.Sprintf("Line %d has a key that is no scalar.", key.Line)}
		}
		if j, ok := at[key.Value]; ok {
			values[j] = n.Content[i+1]
			continue
		}
		at[key.Value] = len(names)
		names, values = append(names, key.Value), append(values, n.Content[i+1])
	}
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		start := len(dst)
		var err error
		if dst, err = jsontext.AppendQuote(dst, name); err != nil {
			return nil, &DecodeError{"yaml", "A key of the body is not valid UTF-8."}
		}
		if err = e.spend(len(dst) - start); err != nil {
			return nil, err
		}
		if dst, err = e.append(append(dst, ':'), values[i], depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// appendScalar resolves by the core schema of YAML 1.2: "yes" is a string, a
// number with leading zeros too. A tag of the standard set is obeyed, any other
// leaves text.
func appendScalar(dst []byte, n *yaml.Node) ([]byte, error) {
	plain := n.Style&quoted == 0
	if n.Style&yaml.TaggedStyle != 0 {
		switch n.ShortTag() {
		case "!!int", "!!float", "!!bool", "!!null":
			plain = true
		default:
			plain = false
		}
	}
	if plain {
		if out, ok := resolvePlain(dst, n.Value); ok {
			if number, _ := outsized(out[len(dst):]); number != nil {
				return nil, outsizedError("yaml", number, fmt.Sprintf(" in line %d", n.Line))
			}
			return out, nil
		}
	}
	dst, err := jsontext.AppendQuote(dst, n.Value)
	if err != nil {
		return nil, &DecodeError{"yaml", "A string of the body is not valid UTF-8."}
	}
	return dst, nil
}

// resolvePlain appends what a plain scalar means when that is not a string.
// Numbers keep their digits.
func resolvePlain(dst []byte, s string) ([]byte, bool) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return append(dst, "null"...), true
	case "true", "True", "TRUE":
		return append(dst, "true"...), true
	case "false", "False", "FALSE":
		return append(dst, "false"...), true
	}
	body, negative := s, false
	if c := s[0]; c == '+' || c == '-' {
		body, negative = s[1:], c == '-'
	}
	switch body {
	case ".inf", ".Inf", ".INF":
		return append(dst, "null"...), true // JSON has no infinity
	}
	switch s {
	case ".nan", ".NaN", ".NAN":
		return append(dst, "null"...), true
	}
	if based, base := strings.CutPrefix(body, "0x"); base && len(based) <= 64 {
		return appendBased(dst, based, 16, negative)
	}
	if based, base := strings.CutPrefix(body, "0o"); base && len(based) <= 64 {
		return appendBased(dst, based, 8, negative)
	}
	return appendDecimal(dst, body, negative)
}

func appendBased(dst []byte, digits string, base int, negative bool) ([]byte, bool) {
	if strings.ContainsAny(digits, "+-_") {
		return dst, false
	}
	v, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return dst, false
	}
	if negative {
		v.Neg(v)
	}
	return v.Append(dst, 10), true
}

// appendDecimal copies a decimal number and fills in what JSON asks for and
// YAML does not: digits on both sides of the point.
func appendDecimal(dst []byte, s string, negative bool) ([]byte, bool) {
	whole := digits(s)
	rest := s[whole:]
	fraction := -1
	if strings.HasPrefix(rest, ".") {
		rest = rest[1:]
		fraction = digits(rest)
		rest = rest[fraction:]
	}
	if whole == 0 && fraction <= 0 || whole > 1 && s[0] == '0' {
		return dst, false
	}
	exponent := ""
	if rest != "" {
		if rest[0] != 'e' && rest[0] != 'E' {
			return dst, false
		}
		exponent = rest
		tail := strings.TrimPrefix(strings.TrimPrefix(rest[1:], "-"), "+")
		if len(tail) < len(rest)-2 || tail == "" || digits(tail) != len(tail) {
			return dst, false
		}
	}
	if negative {
		dst = append(dst, '-')
	}
	if whole == 0 {
		dst = append(dst, '0')
	}
	dst = append(dst, s[:whole]...)
	if fraction >= 0 {
		dst = append(dst, '.')
		dst = append(dst, s[whole+1:whole+1+fraction]...)
		if fraction == 0 {
			dst = append(dst, '0')
		}
	}
	return append(dst, exponent...), true
}

func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

func yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if len(text) > 200 {
		text = text[:200]
	}
	return &DecodeError{"yaml", "The body is not one valid YAML document: " + strings.ToValidUTF8(text, "?") + "."}
}
