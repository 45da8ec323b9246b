package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// frozenDigest is the SHA-256 of the normalised input schemas of the eighteen tools, as the contract's own validator
// computes it.
const frozenDigest = "9ae0d642cb3a90ec86ccda5b93a2339ac94dc82f54451fea3b23fd9d959fca16"

// CheckTools says how a list of tools, as a server offers it, departs from the frozen one: names, their order, input
// schemas after normalisation.
func (c *Contract) CheckTools(offered any) error {
	list, ok := offered.([]any)
	if !ok {
		return fmt.Errorf("the tools are no list: %s", value.Shorten(offered))
	}
	var want []*Operation
	for _, op := range c.order {
		if op.Tool != "" && op.Profile == "workbench" {
			want = append(want, op)
		}
	}
	if len(list) != len(want) {
		return fmt.Errorf("%d tools are offered, want %d", len(list), len(want))
	}
	var digested []any
	for i, tool := range list {
		name, _ := value.At(tool, "name")
		if name != want[i].Tool {
			return fmt.Errorf("tool %d is %v, want %s", i, name, want[i].Tool)
		}
		schema, _ := value.At(tool, "inputSchema")
		frozen, err := want[i].frozenInput()
		if err != nil {
			return err
		}
		if got := normalise(schema); !value.Equal(got, normalise(frozen)) {
			return fmt.Errorf("the input schema of %v is not the frozen one: %s", name, value.Shorten(got))
		}
		digested = append(digested, map[string]any{"name": name, "inputSchema": normalise(schema)})
	}
	slices.SortFunc(digested, func(a, b any) int {
		return bytes.Compare(value.Encode(a.(map[string]any)["name"]), value.Encode(b.(map[string]any)["name"]))
	})
	sum := sha256.Sum256(value.Encode(digested))
	if got := hex.EncodeToString(sum[:]); got != frozenDigest {
		return fmt.Errorf("the input schemas have the digest %s, want %s", got, frozenDigest)
	}
	return nil
}

// frozenInput is the raw input schema of an operation.
func (op *Operation) frozenInput() (any, error) {
	node, err := op.input.doc.node(op.input.at)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(node)
	if err != nil {
		return nil, err
	}
	return value.Decode(text)
}

var (
	annotations = []string{"$comment", "default", "deprecated", "description", "example", "examples", "readOnly", "title", "writeOnly"}
	unordered   = []string{"allOf", "anyOf", "oneOf", "enum", "required", "type"}
)

// normalise drops annotations and sorts what has no order. Under properties the names are names and no keywords.
func normalise(schema any) any {
	switch node := schema.(type) {
	case []any:
		out := make([]any, len(node))
		for i, e := range node {
			out[i] = normalise(e)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, e := range node {
			if slices.Contains(annotations, key) {
				continue
			}
			properties, named := e.(map[string]any)
			if key == "properties" && named {
				members := map[string]any{}
				for name, member := range properties {
					members[name] = normalise(member)
				}
				out[key] = members
				continue
			}
			out[key] = normalise(e)
			if list, ok := out[key].([]any); ok && slices.Contains(unordered, key) {
				slices.SortFunc(list, func(a, b any) int { return bytes.Compare(value.Encode(a), value.Encode(b)) })
			}
		}
		return out
	}
	return schema
}
