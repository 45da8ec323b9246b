package value

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Env gives a template the values of names.
type Env interface {
	Lookup(name string) (any, bool)
}

// Names is an Env made of a map.
type Names map[string]any

// Lookup returns the value of name.
func (n Names) Lookup(name string) (any, bool) {
	v, ok := n[name]
	return v, ok
}

// Template is text with holes: ${name} takes a saved value, ${sha256:TEXT} and ${base64:TEXT} are computed,
// ${repeat:COUNT:TEXT} is long, $$ is one dollar sign. A template that is nothing but ${name} becomes the
// saved value with its type; otherwise the value is written into the text.
type Template struct {
	source string
	parts  []part
}

type part struct {
	literal string
	name    string // a saved value
	fn      string // sha256, base64, repeat
	count   int    // of repeat
	arg     *Template
}

// ParseTemplate reads s. Errors: a hole that is not closed, an unknown function, a bad count.
func ParseTemplate(s string) (*Template, error) {
	t := &Template{source: s}
	rest := s
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			t.parts = append(t.parts, part{literal: lit.String()})
			lit.Reset()
		}
	}
	for rest != "" {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			lit.WriteString(rest)
			break
		}
		lit.WriteString(rest[:i])
		rest = rest[i:]
		switch {
		case strings.HasPrefix(rest, "$$"):
			lit.WriteByte('$')
			rest = rest[2:]
		case strings.HasPrefix(rest, "${"):
			end := closing(rest)
			if end < 0 {
				return nil, fmt.Errorf("%q opens ${ and does not close it", s)
			}
			p, err := parseHole(rest[2:end])
			if err != nil {
				return nil, err
			}
			flush()
			t.parts = append(t.parts, p)
			rest = rest[end+1:]
		default:
			lit.WriteByte('$')
			rest = rest[1:]
		}
	}
	flush()
	return t, nil
}

// closing finds the brace that ends the hole at the start of s; holes nest.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '{' && i > 0 && s[i-1] == '$':
			depth++
		case s[i] == '}':
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

func parseHole(body string) (part, error) {
	fn, arg, isCall := strings.Cut(body, ":")
	if !isCall {
		if !IsName(body) {
			return part{}, fmt.Errorf("${%s} is not a name", body)
		}
		return part{name: body}, nil
	}
	p := part{fn: fn}
	switch fn {
	case "sha256", "base64":
	case "repeat":
		count, text, ok := strings.Cut(arg, ":")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n < 0 || n > 64<<20 {
			return part{}, fmt.Errorf("${%s}: want repeat:COUNT:TEXT", body)
		}
		p.count, arg = n, text
	default:
		return part{}, fmt.Errorf("${%s}: no function %q", body, fn)
	}
	t, err := ParseTemplate(arg)
	if err != nil {
		return part{}, err
	}
	p.arg = t
	return p, nil
}

// IsName reports whether s can name a saved value.
func IsName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// Uses calls fn with every name that t needs.
func (t *Template) Uses(fn func(name string)) {
	for _, p := range t.parts {
		if p.name != "" {
			fn(p.name)
		}
		if p.arg != nil {
			p.arg.Uses(fn)
		}
	}
}

// Value fills the holes. Errors: a name that env does not know.
func (t *Template) Value(env Env) (any, error) {
	if len(t.parts) == 1 && t.parts[0].name != "" {
		v, ok := env.Lookup(t.parts[0].name)
		if !ok {
			return nil, fmt.Errorf("nothing is saved as %q", t.parts[0].name)
		}
		return v, nil
	}
	return t.Text(env)
}

// Text fills the holes and gives text.
func (t *Template) Text(env Env) (string, error) {
	var out strings.Builder
	for _, p := range t.parts {
		switch {
		case p.name != "":
			v, ok := env.Lookup(p.name)
			if !ok {
				return "", fmt.Errorf("nothing is saved as %q", p.name)
			}
			if s, isText := v.(string); isText {
				out.WriteString(s)
			} else {
				out.Write(Encode(v))
			}
		case p.fn != "":
			arg, err := p.arg.Text(env)
			if err != nil {
				return "", err
			}
			switch p.fn {
			case "sha256":
				sum := sha256.Sum256([]byte(arg))
				out.WriteString("sha256:" + hex.EncodeToString(sum[:]))
			case "base64":
				out.WriteString(base64.StdEncoding.EncodeToString([]byte(arg)))
			case "repeat":
				out.WriteString(strings.Repeat(arg, p.count))
			}
		default:
			out.WriteString(p.literal)
		}
	}
	return out.String(), nil
}

// literal reports the text of a template without holes.
func (t *Template) literalText() (string, bool) {
	switch {
	case len(t.parts) == 0:
		return "", true
	case len(t.parts) == 1 && t.parts[0].name == "" && t.parts[0].fn == "":
		return t.parts[0].literal, true
	}
	return "", false
}

// CompileArguments turns the strings of v into templates, for a value that will be sent. A matcher has no
// place in it, so text that begins with $ needs $$.
func CompileArguments(v any) (any, error) { return compile(v, false) }

func compile(v any, matchers bool) (any, error) {
	switch v := v.(type) {
	case string:
		return compileString(v, matchers)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			c, err := compile(e, matchers)
			if err != nil {
				return nil, err
			}
			out[i] = c
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			c, err := compile(e, matchers)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			out[key] = c
		}
		if rest, open := out[openMember]; open && matchers {
			if rest != matcherAny {
				return nil, fmt.Errorf(`the member "..." opens an object and is written "...": "$any"`)
			}
		}
		return out, nil
	}
	return v, nil
}

func compileString(s string, matchers bool) (any, error) {
	if len(s) > 1 && s[0] == '$' && s[1] != '$' && s[1] != '{' {
		m := matcher(s)
		if !m.known() {
			return nil, fmt.Errorf("%q is no matcher; text that begins with a dollar sign is written with two", s)
		}
		if !matchers {
			return nil, fmt.Errorf("the matcher %q stands in something that is sent", s)
		}
		return m, nil
	}
	t, err := ParseTemplate(s)
	if err != nil {
		return nil, err
	}
	if text, ok := t.literalText(); ok {
		return text, nil
	}
	return t, nil
}

// Resolve fills the templates of a compiled value.
func Resolve(v any, env Env) (any, error) {
	switch v := v.(type) {
	case *Template:
		return v.Value(env)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			r, err := Resolve(e, env)
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			r, err := Resolve(e, env)
			if err != nil {
				return nil, err
			}
			out[key] = r
		}
		return out, nil
	}
	return v, nil
}

// Uses calls fn with every name that a compiled value needs.
func Uses(v any, fn func(name string)) {
	switch v := v.(type) {
	case *Template:
		v.Uses(fn)
	case []any:
		for _, e := range v {
			Uses(e, fn)
		}
	case map[string]any:
		for _, e := range v {
			Uses(e, fn)
		}
	}
}

// Literal is a template without holes.
func Literal(s string) *Template {
	if s == "" {
		return &Template{}
	}
	return &Template{source: s, parts: []part{{literal: s}}}
}
