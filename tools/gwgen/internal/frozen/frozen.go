// Package frozen normalises tool schemas, so that two that admit the same documents in the same words are equal, and
// digests them.
package frozen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
)

// annotations are the keywords that say nothing about which documents are valid.
var annotations = map[string]bool{"$comment": true, "default": true, "deprecated": true, "description": true, "example": true,
	"examples": true, "readOnly": true, "title": true, "writeOnly": true}

// unordered are the keywords whose lists mean the same in every order.
var unordered = map[string]bool{"allOf": true, "anyOf": true, "oneOf": true, "enum": true, "required": true, "type": true}

// Normalise drops annotations, except where they are names of properties, and sorts what has no order. Numbers must be
// json.Number.
func Normalise(v any) any { return normalise(v, false) }

func normalise(v any, names bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if !names && annotations[k] {
				continue
			}
			e = normalise(e, !names && (k == "properties" || k == "$defs"))
			if list, ok := e.([]any); ok && !names && unordered[k] {
				sort.Slice(list, func(i, j int) bool { return string(Canonical(list[i])) < string(Canonical(list[j])) })
			}
			out[k] = e
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = normalise(e, false)
		}
		return out
	}
	return v
}

// Canonical is compact JSON with sorted members.
func Canonical(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("a decoded JSON value does not encode: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Parse reads JSON with numbers as they are written.
func Parse(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}

// Digest is the SHA-256 of a normalised value, in hexadecimal.
func Digest(v any) string {
	sum := sha256.Sum256(Canonical(Normalise(v)))
	return hex.EncodeToString(sum[:])
}

// Tool is a tool and its input schema.
type Tool struct {
	Name   string
	Schema any
}

// ToolsDigest is the digest of a whole tool list: name and schema of each, sorted by name.
func ToolsDigest(tools []Tool) string {
	list := make([]any, len(tools))
	sorted := append([]Tool(nil), tools...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Name < sorted[j].Name })
	for i, t := range sorted {
		list[i] = map[string]any{"name": t.Name, "inputSchema": Normalise(t.Schema)}
	}
	sum := sha256.Sum256(Canonical(list))
	return hex.EncodeToString(sum[:])
}
