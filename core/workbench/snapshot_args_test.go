package workbench

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/canon"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// FuzzAnnotation: what is accepted is a canonical object within the bounds, which
// comes back as it is when it is given again; what is refused is the caller's
// mistake.
func FuzzAnnotation(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `{"a":[[[[[[[1]]]]]]]}`, `{"a":[[[[[[[[1]]]]]]]]}`, `{"\"{[:,":"}]\\\""}`, `{"b":9007199254740993,"a":1e400}`, `[{"a":1}]`, ` {"a" : -0.0 } `, `{"a":1,"a":2}`} {
		f.Add("reason", []byte(s))
	}
	f.Fuzz(func(t *testing.T, reason string, metadata []byte) {
		a, err := parseAnnotation(&reason, op.RawJSON(metadata))
		if err != nil {
			if !fault.Is(err, op.ReasonWBInvalidArguments) {
				t.Errorf("%q %q: %v", reason, metadata, err)
			}
			return
		}
		if len(a.Metadata) == 0 {
			if text := bytes.TrimSpace(metadata); len(text) > 0 && string(text) != "null" {
				t.Errorf("%q was dropped", metadata)
			}
			return
		}
		if !canon.IsCanonical(a.Metadata) {
			t.Errorf("%q is not canonical", a.Metadata)
		}
		again, err := parseAnnotation(&reason, op.RawJSON(a.Metadata))
		if err != nil || !bytes.Equal(again.Metadata, a.Metadata) {
			t.Errorf("%q became %q, %v", a.Metadata, again.Metadata, err)
		}
		members, depth := measure(a.Metadata)
		var object map[string]any
		d := json.NewDecoder(bytes.NewReader(a.Metadata))
		d.UseNumber() // its own floats end earlier than those of the canonical form
		if err := d.Decode(&object); err != nil || members != len(object) || depth != deepness(object) {
			t.Errorf("%q has %d members and %d levels, counted %d and %d, %v", a.Metadata, len(object), deepness(object), members, depth, err)
		}
		if members > int(op.LimitMaxAnnotationMembers) || depth > int(op.LimitMaxAnnotationDepth) {
			t.Errorf("%q was accepted", a.Metadata)
		}
	})
}

// deepness counts objects and arrays that are open at once.
func deepness(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n = max(n, deepness(e))
		}
		return n + 1
	case []any:
		for _, e := range v {
			n = max(n, deepness(e))
		}
		return n + 1
	}
	return 0
}
