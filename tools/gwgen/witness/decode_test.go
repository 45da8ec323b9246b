package witness

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/sawhorse-dev/sawhorse/gen/mcp"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
)

// oracle validates documents against the frozen schemas with a validator that shares no code with gen/op.
type oracle struct {
	request map[*op.Descriptor]*jsonschema.Schema
	result  map[*op.Descriptor]*jsonschema.Schema
	// sources are the schemas as values, for making documents.
	requests, results map[*op.Descriptor]any
	defs              map[string]any
}

func newOracle(t testing.TB) *oracle {
	t.Helper()
	o := &oracle{map[*op.Descriptor]*jsonschema.Schema{}, map[*op.Descriptor]*jsonschema.Schema{}, map[*op.Descriptor]any{}, map[*op.Descriptor]any{}, nil}
	c := jsonschema.NewCompiler()
	text, err := os.ReadFile("../../../spec/workbench/results.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	results := parse(t, text).(map[string]any)
	o.defs = results["$defs"].(map[string]any)
	add := func(url string, v any) {
		if err := c.AddResource(url, v); err != nil {
			t.Fatal(err)
		}
	}
	delete(results, "$id")
	delete(results, "$schema")
	add("mem:///results.json", results)
	compile := func(url string) *jsonschema.Schema {
		s, err := c.Compile(url)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, tool := range mcp.Workbench {
		url := "mem:///" + tool.Name + ".json"
		input := parse(t, tool.InputSchema)
		add(url, input)
		o.request[tool.Op], o.requests[tool.Op] = compile(url), input
		o.result[tool.Op], o.results[tool.Op] = compile("mem:///results.json#/$defs/"+tool.Op.Name), o.defs[tool.Op.Name]
	}
	// The others are described in OpenAPI. References are made local to one document for each area.
	nothing := `{"type":"object","properties":{},"additionalProperties":false}`
	documents := map[string]map[string]any{}
	for _, d := range decoded() {
		if o.request[d] != nil {
			continue
		}
		area, _, _ := strings.Cut(d.ID, ".")
		if documents[area] == nil {
			doc, err := schema.Load("../../../spec/openapi/"+area+".yaml", area)
			if err != nil {
				t.Fatal(err)
			}
			components := schema.JSON(schema.Get(doc.Root, "components", "schemas"), nil)
			local := parse(t, []byte(`{"$defs":`+strings.ReplaceAll(components, "#/components/schemas/", "#/$defs/")+`}`)).(map[string]any)
			add("mem:///"+area+".json", local)
			documents[area] = local["$defs"].(map[string]any)
			for k, v := range documents[area] {
				o.defs[k] = v
			}
		}
		name := camel(d.ID)
		o.result[d], o.results[d] = compile("mem:///"+area+".json#/$defs/"+name+"Result"), documents[area][name+"Result"]
		if o.requests[d] = documents[area][name+"Request"]; o.requests[d] != nil {
			o.request[d] = compile("mem:///" + area + ".json#/$defs/" + name + "Request")
			continue
		}
		o.requests[d] = parse(t, []byte(nothing))
		url := "mem:///" + d.ID + ".json"
		add(url, o.requests[d])
		o.request[d] = compile(url)
	}
	for _, d := range op.Descriptors {
		if d.Decode != nil && o.request[d] == nil {
			t.Fatalf("%s has no oracle", d.ID)
		}
	}
	return o
}

// camel is how a document names the schemas of an operation: jobs.get_capabilities has JobsGetCapabilities.
func camel(id string) (name string) {
	for _, word := range strings.FieldsFunc(id, func(r rune) bool { return r == '.' || r == '_' }) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// decoded lists the operations that have decoders.
func decoded() (out []*op.Descriptor) {
	for _, d := range op.Descriptors {
		if d.Decode != nil {
			out = append(out, d)
		}
	}
	return out
}

func valid(s *jsonschema.Schema, doc []byte) (bool, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return false, err
	}
	if err := s.Validate(v); err != nil {
		return false, err
	}
	return true, nil
}

// stricter says whether a refusal is one that JSON Schema does not know: an integer is a literal of 64 bits here, and
// nesting is bounded.
func stricter(inv *op.Invalid) bool {
	return inv.Rule == "depth" || strings.Contains(inv.Text, "fraction or exponent") || strings.Contains(inv.Text, "64-bit integer") || strings.Contains(inv.Text, "does not fit a double")
}

// checkDecode holds one document to every property of a decoder.
func checkDecode(t *testing.T, name string, rules *jsonschema.Schema, decode func([]byte) (appender, *op.Invalid), doc []byte) {
	t.Helper()
	wellFormed := jsontext.Value(doc).IsValid(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	before := bytes.Clone(doc)
	v, inv := decode(doc)
	if !bytes.Equal(before, doc) {
		t.Fatalf("%s: the decoder wrote to its input", name)
	}
	if inv != nil {
		if inv.Member == "" || inv.Member[0] != '$' || !strings.HasPrefix(inv.Text, inv.Member+": ") || inv.Rule == "" {
			t.Fatalf("%s: a refusal without a member: %+v", name, inv)
		}
		if wellFormed && !stricter(inv) {
			if ok, _ := valid(rules, doc); ok {
				t.Fatalf("%s refuses what the schema admits: %v\n%q", name, inv, doc)
			}
		}
		return
	}
	if !wellFormed {
		t.Fatalf("%s admits what is not strict JSON: %q", name, doc)
	}
	if ok, err := valid(rules, doc); !ok {
		t.Fatalf("%s admits what the schema refuses: %v\n%q", name, err, doc)
	}
	for i := range doc {
		doc[i] = 'x' // what was decoded must not look at its input again
	}
	text := v.AppendJSON(nil)
	if ok, err := valid(rules, text); !ok {
		t.Fatalf("%s: what was decoded does not encode to a valid document: %v\n%q\n%q", name, err, before, text)
	}
	again, inv := decode(bytes.Clone(text))
	if inv != nil {
		t.Fatalf("%s: its own encoding is refused: %v\n%q", name, inv, text)
	}
	if second := again.AppendJSON(nil); !bytes.Equal(text, second) {
		t.Fatalf("%s: the encoding is not stable:\n%q\n%q", name, text, second)
	}
	if !jsontext.Value(text).IsValid() {
		t.Fatalf("%s: encodes to invalid JSON %q", name, text)
	}
}

type appender interface{ AppendJSON([]byte) []byte }

func requests(d *op.Descriptor) func([]byte) (appender, *op.Invalid) {
	return func(b []byte) (appender, *op.Invalid) {
		v, inv := d.Decode(b)
		if inv != nil {
			return nil, inv
		}
		return v, nil
	}
}

func results(d *op.Descriptor) func([]byte) (appender, *op.Invalid) {
	return func(b []byte) (appender, *op.Invalid) {
		v, inv := d.DecodeResult(b)
		if inv != nil {
			return nil, inv
		}
		return v, nil
	}
}

func TestDecodersAgreeWithFrozenSchemas(t *testing.T) {
	o := newOracle(t)
	admitted, refused := 0, 0
	for _, d := range decoded() {
		gen := &documents{r: rand.New(rand.NewPCG(1, uint64(d.Index))), defs: o.defs}
		for i := range 3000 {
			gen.wrong = []int{0, 2, 10}[i%3]
			doc := []byte(gen.one(o.requests[d]))
			if _, inv := d.Decode(bytes.Clone(doc)); inv == nil {
				admitted++
			} else {
				refused++
			}
			checkDecode(t, d.ID, o.request[d], requests(d), doc)
		}
	}
	if admitted < 10000 || refused < 10000 {
		t.Errorf("the documents are one-sided: %d admitted, %d refused", admitted, refused)
	}
}

func TestResultDecodersAgreeWithSchemas(t *testing.T) {
	o := newOracle(t)
	admitted := map[string]int{}
	for _, d := range decoded() {
		gen := &documents{r: rand.New(rand.NewPCG(2, uint64(d.Index))), defs: o.defs}
		for i := range 1000 {
			gen.wrong = []int{0, 0, 5}[i%3]
			doc := []byte(gen.one(o.results[d]))
			if d == op.WorkbenchReadOp {
				// Which members go with not_modified is beyond JSON Schema; see TestReadResultHasTwoShapes.
				if _, inv := d.DecodeResult(bytes.Clone(doc)); inv != nil && (inv.Rule == "missing" || inv.Rule == "unknown") {
					continue
				}
			}
			if _, inv := d.DecodeResult(bytes.Clone(doc)); inv == nil {
				admitted[d.ID]++
			}
			checkDecode(t, d.ID, o.result[d], results(d), doc)
		}
		if d != op.WorkbenchReadOp && admitted[d.ID] < 100 {
			t.Errorf("%s: only %d results were admitted", d.ID, admitted[d.ID])
		}
	}
}

func TestReadResultHasTwoShapes(t *testing.T) {
	head := `{"status":"success","workbench_id":"w","workbench_path":"/r/w","section":"logs","relative_path":"a","path":"/r/w/logs/a","generation":3`
	body := `,"total_size_bytes":0,"format":"structured","record_type":"text_lines","record_count":0,"cursor":null,"items":[],"bytes":null,"bytes_encoding":null,"next_cursor":null,"truncated":false`
	cases := []struct{ doc, rule, member string }{
		{head + `,"not_modified":true}`, "", ""},
		{head + body + `}`, "", ""},
		{head + body + `,"not_modified":true}`, "unknown", "$.total_size_bytes"},
		{head + `}`, "missing", "$.total_size_bytes"},
		{head + `,"not_modified":false}`, "const", "$.not_modified"},
	}
	for _, c := range cases {
		v, inv := op.WorkbenchReadOp.DecodeResult([]byte(c.doc))
		if c.rule == "" {
			if inv != nil {
				t.Errorf("%s: %v", c.doc, inv)
				continue
			}
			want := parse(t, []byte(c.doc))
			if got := parse(t, v.AppendJSON(nil)); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %v, want %v", got, want)
			}
			continue
		}
		if inv == nil || inv.Rule != c.rule || inv.Member != c.member {
			t.Errorf("%s: got %+v, want %s at %s", c.doc, inv, c.rule, c.member)
		}
	}
}

var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{4}`)

// FuzzDecode tries every decoder of the catalogue: requests on even numbers, results on odd ones.
func FuzzDecode(f *testing.F) {
	o := newOracle(f)
	ops := decoded()
	r := rand.New(rand.NewPCG(3, 3))
	for i, d := range ops {
		gen := &documents{r: r, defs: o.defs}
		for range 4 {
			f.Add(uint8(2*i), []byte(gen.one(o.requests[d])))
			f.Add(uint8(2*i+1), []byte(gen.one(o.results[d])))
			gen.wrong += 4
		}
	}
	for _, doc := range []string{"", "{", "{}", "[]", `{"id":"\ud800"}`, "{\"id\":\"\xff\"}", `{"id":"a","id":"b"}`, `{"id":"a"} x`, `{"\u0069d":"a"}`, `{"limit":1.0}`, `{"id":1e3}`} {
		f.Add(uint8(8), []byte(doc))
	}
	f.Fuzz(func(t *testing.T, which uint8, doc []byte) {
		d := ops[int(which/2)%len(ops)]
		if longExponent.Match(doc) {
			// The oracle computes such a number in full; only the decoder is tried.
			_, _ = d.Decode(doc)
			_, _ = d.DecodeResult(doc)
			return
		}
		if which%2 == 0 {
			checkDecode(t, d.ID, o.request[d], requests(d), doc)
			return
		}
		if d == op.WorkbenchReadOp {
			if _, inv := d.DecodeResult(bytes.Clone(doc)); inv != nil {
				return // its two shapes are beyond JSON Schema
			}
		}
		checkDecode(t, d.ID, o.result[d], results(d), doc)
	})
}

func TestEveryDecoderRefusesStrictly(t *testing.T) {
	cases := []struct {
		op           *op.Descriptor
		doc          string
		rule, member string
	}{
		{op.WorkbenchCreateOp, `{}`, "missing", "$.id"},
		{op.WorkbenchCreateOp, `{"id":"a","extra":1}`, "unknown", "$.extra"},
		{op.WorkbenchCreateOp, `{"Id":"a"}`, "unknown", "$.Id"},
		{op.WorkbenchCreateOp, `{"id":"a","id":"a"}`, "duplicate", "$.id"},
		{op.WorkbenchCreateOp, `{"id":"a","\u0069d":"a"}`, "duplicate", "$.id"},
		{op.WorkbenchCreateOp, `{"id":"a"}{}`, "trailing", "$"},
		{op.WorkbenchCreateOp, `{"id":"a"} null`, "trailing", "$"},
		{op.WorkbenchCreateOp, "{\"id\":\"a\"}\x00", "trailing", "$"},
		{op.WorkbenchCreateOp, `{"id":1}`, "type", "$.id"},
		{op.WorkbenchCreateOp, `{"id":null}`, "type", "$.id"},
		{op.WorkbenchCreateOp, `[]`, "type", "$"},
		{op.WorkbenchCreateOp, `null`, "type", "$"},
		{op.WorkbenchCreateOp, ``, "syntax", "$"},
		{op.WorkbenchCreateOp, `{"id":"a",}`, "syntax", "$"},
		{op.WorkbenchCreateOp, `{"id" "a"}`, "syntax", "$"},
		{op.WorkbenchCreateOp, `{'id':"a"}`, "syntax", "$"},
		{op.WorkbenchCreateOp, `{"id":"a`, "syntax", "$.id"},
		{op.WorkbenchCreateOp, "{\"id\":\"a\nb\"}", "syntax", "$.id"},
		{op.WorkbenchCreateOp, `{"id":"\x41"}`, "syntax", "$.id"},
		{op.WorkbenchCreateOp, "{\"id\":\"\xff\"}", "utf8", "$.id"},
		{op.WorkbenchCreateOp, "{\"id\":\"\xed\xa0\x80\"}", "utf8", "$.id"},
		{op.WorkbenchCreateOp, `{"id":"\ud800"}`, "utf8", "$.id"},
		{op.WorkbenchCreateOp, `{"id":"\udc00\ud800"}`, "utf8", "$.id"},
		{op.WorkbenchCreateOp, `{"id":"\ud800\u0041"}`, "utf8", "$.id"},
		{op.WorkbenchPutFileOp, `{"id":"a","section":"Outputs","path":"x"}`, "enum", "$.section"},
		{op.WorkbenchPutFileOp, `{"id":"a","section":"outputs","path":"x","text":null}`, "type", "$.text"},
		{op.WorkbenchPutFileOp, `{"id":"a","section":"outputs","path":"x","replace":"true"}`, "type", "$.replace"},
		{op.WorkbenchReadOp, `{"id":"a","section":"outputs","path":"x","limit":301}`, "maximum", "$.limit"},
		{op.WorkbenchReadOp, `{"id":"a","section":"outputs","path":"x","limit":0}`, "minimum", "$.limit"},
		{op.WorkbenchReadOp, `{"id":"a","section":"outputs","path":"x","limit":1.0}`, "type", "$.limit"},
		{op.WorkbenchReadOp, `{"id":"a","section":"outputs","path":"x","limit":1e2}`, "type", "$.limit"},
		{op.WorkbenchReadOp, `{"id":"a","section":"outputs","path":"x","limit":01}`, "syntax", "$.limit"},
		{op.WorkbenchReadOp, `{"id":"a","section":"outputs","path":"x","offset":-1}`, "minimum", "$.offset"},
		{op.WorkbenchReadOp, `{"id":"a","section":"outputs","path":"x","offset":99999999999999999999}`, "maximum", "$.offset"},
		{op.WorkbenchListOp, `{"id":"a","at_snapshot":true}`, "type", "$.at_snapshot"},
		{op.WorkbenchListOp, `{"id":"a","at_snapshot":1.5}`, "type", "$.at_snapshot"},
		{op.WorkbenchSearchOp, `{"predicates":[{"field":"a","op":"eq"},{"field":"b","op":"like"}]}`, "enum", "$.predicates[1].op"},
		{op.WorkbenchSearchOp, `{"predicates":[{"field":"a","op":"eq","value":{}}]}`, "type", "$.predicates[0].value"},
		{op.WorkbenchSearchOp, `{"predicates":[{"field":"a","op":"in","value":[[1]]}]}`, "type", "$.predicates[0].value"},
		{op.WorkbenchSearchOp, `{"predicates":[{"field":"a"}]}`, "missing", "$.predicates[0].op"},
		{op.WorkbenchSearchOp, `{"predicates":[{"field":"a","op":"eq","x":1}]}`, "unknown", "$.predicates[0].x"},
		{op.WorkbenchSearchOp, `{"predicates":{}}`, "type", "$.predicates"},
		{op.WorkbenchSearchOp, `{"facets":[1]}`, "type", "$.facets[0]"},
		{op.WorkbenchGrepOp, `{"id":"a","pattern":"p","recursive":true,"patterns":["` + strings.Repeat(`a","`, 16) + `a"]}`, "maxItems", "$.patterns"},
		{op.WorkbenchCommitOp, `{"id":"a","manifest":[],"content_digest_uri":"sha256:` + strings.Repeat("0", 64) + `"}`, "type", "$.manifest"},
		{op.WorkbenchCommitOp, `{"id":"a","manifest":{"a":1,"a":2},"content_digest_uri":"x"}`, "duplicate", "$.manifest"},
		{op.WorkbenchCommitOp, `{"id":"a","manifest":{"a":"\ud800"},"content_digest_uri":"x"}`, "utf8", "$.manifest"},
		{op.WorkbenchCommitOp, `{"id":"a","manifest":` + strings.Repeat(`{"a":`, 128) + `1` + strings.Repeat(`}`, 128) + `,"content_digest_uri":"x"}`, "depth", "$.manifest"},
		{op.WorkbenchCommitOp, `{"id":"a","manifest":{},"content_digest_uri":"sha256:XY"}`, "pattern", "$.content_digest_uri"},
		{op.WorkbenchSnapshotRetireOp, `{"id":"a"}`, "oneOf", "$"},
		{op.WorkbenchSnapshotRetireOp, `{"id":"a","snapshot_id":1,"name":"n"}`, "oneOf", "$"},
		{op.WorkbenchSnapshotRetireOp, `{"id":"","name":"n"}`, "minLength", "$.id"},
		{op.WorkbenchSnapshotOp, `{"id":"a","reason":"` + strings.Repeat("é", 257) + `"}`, "maxLength", "$.reason"},
		{op.OperatorGetHealthOp, `{"x":1}`, "unknown", "$.x"},
	}
	for _, c := range cases {
		v, inv := c.op.Decode([]byte(c.doc))
		if inv == nil {
			t.Errorf("%s admits %s as %+v", c.op.ID, c.doc, v)
			continue
		}
		if inv.Rule != c.rule || inv.Member != c.member {
			t.Errorf("%s: %s: got %s at %s (%s), want %s at %s", c.op.ID, c.doc, inv.Rule, inv.Member, inv.Text, c.rule, c.member)
		}
	}
}

func TestNumbersSurvive(t *testing.T) {
	for _, n := range []string{"9007199254740993", "1e-7", "100.0", "-0", "1E400", "0.1000"} {
		doc := `{"content_digest_uri":"sha256:` + strings.Repeat("0", 64) + `","id":"a","manifest":{"b":` + n + `,"a":1}}`
		v, inv := op.WorkbenchCommitOp.Decode([]byte(doc))
		if inv != nil {
			t.Fatal(inv)
		}
		if got := string(v.AppendJSON(nil)); got != doc {
			t.Errorf("got %s, want %s", got, doc)
		}
	}
}
