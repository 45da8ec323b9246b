package schema

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
)

// JSON writes a node as compact JSON, members in the source's order. skip leaves members out by name; nil keeps all.
func JSON(n *yaml.Node, skip func(key string) bool) string {
	var b strings.Builder
	writeJSON(&b, n, skip)
	return b.String()
}

func writeJSON(b *strings.Builder, n *yaml.Node, skip func(string) bool) {
	switch n.Kind {
	case yaml.AliasNode:
		writeJSON(b, n.Alias, skip)
	case yaml.MappingNode:
		b.WriteByte('{')
		first := true
		for _, p := range Pairs(n) {
			if skip != nil && skip(p.Key) {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			b.WriteString(quoteJSON(p.Key))
			b.WriteByte(':')
			writeJSON(b, p.Value, skip)
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, c, skip)
		}
		b.WriteByte(']')
	default:
		switch n.Tag {
		case "!!str":
			b.WriteString(quoteJSON(n.Value))
		case "!!null":
			b.WriteString("null")
		default:
			b.WriteString(n.Value)
		}
	}
}

func quoteJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// A string always encodes.
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}
