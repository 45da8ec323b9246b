package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestFormFollowsTypeAndName(t *testing.T) {
	cases := []struct {
		contentType, path string
		want              Form
	}{
		{"application/json", "a", JSON},
		{"application/problem+JSON; charset=utf-8", "a", JSON},
		{"text/plain; charset=utf-8", "outputs/a.JSON", JSON},
		{"application/json", "a.yaml", JSON},
		{"application/yaml", "a.json", JSON},
		{"text/x-YAML", "a", YAML},
		{"text/plain", "a.yml", YAML},
		{"text/plain", "a.Yaml", YAML},
		{"text/plain", "a.jsonl", JSONLines},
		{"application/json", "a.NDJSON", JSONLines},
		{"application/x-ndjson", "a.json", JSONLines},
		{"application/jsonl", "a", JSONLines},
		{"application/json-lines", "a.yaml", JSONLines},
		{"text/csv", "a.csv", Text},
		{"text/plain", "a.txt", Text},
		{"application/octet-stream", "json", Text},
		{"", "", Text},
	}
	for _, c := range cases {
		if got := FormOf(c.contentType, c.path); got != c.want {
			t.Errorf("%q %q: %v, want %v", c.contentType, c.path, got, c.want)
		}
	}
}

// read joins all items, so that a table can say a whole page in one string.
func read(t *testing.T, contentType, path, body string) (string, Page, error) {
	t.Helper()
	p, err := Records(contentType, path, []byte(body), 0, 1000)
	if err != nil {
		return "", p, err
	}
	if p.Count != len(p.Items) || p.Items == nil {
		t.Fatalf("count %d with %d items", p.Count, len(p.Items))
	}
	return string(bytes.Join(p.Items, []byte("|"))), p, nil
}

func TestTextLines(t *testing.T) {
	cases := []struct {
		body string
		want []string
	}{
		{"", []string{}},
		{"\n", []string{""}},
		{"a", []string{"a"}},
		{"a\n", []string{"a"}},
		{"a\nb", []string{"a", "b"}},
		{"a\r\nb\r", []string{"a", "b\r"}},
		{"a\r\r\nb\n", []string{"a\r", "b"}},
		{"a\rb\n", []string{"a\rb"}},
		{"\r\n", []string{""}},
		{"\n\n", []string{"", ""}},
		{"\ufeffa\n", []string{"\ufeffa"}},
		{"日本\u2028語\n\"\t\x00", []string{"日本\u2028語", "\"\t\x00"}},
	}
	for _, c := range cases {
		p, err := Records("text/plain", "a.txt", []byte(c.body), 0, 1000)
		if err != nil || p.RecordType != RecordTextLines || p.Count != len(c.want) {
			t.Errorf("%q: %+v, %v", c.body, p, err)
			continue
		}
		got := []string{}
		for _, item := range p.Items {
			var s string
			if err := json.Unmarshal(item, &s); err != nil {
				t.Fatal(err)
			}
			got = append(got, s)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q", c.body, got)
		}
	}
	if _, err := Records("text/plain", "a", []byte("a\xff"), 0, 1); err != ErrInvalidUTF8 {
		t.Error(err)
	}
}

func TestJSONDocuments(t *testing.T) {
	cases := []struct{ body, recordType, want string }{
		{`[]`, RecordJSONArray, ``},
		{` [ 1 , "a" , {"b" : [ ] } ] `, RecordJSONArray, `1|"a"|{"b":[]}`},
		{`{"b":1,"a":2}`, RecordJSONObject, `{"b":1,"a":2}`},
		{`null`, RecordJSONObject, `null`},
		{`"x"`, RecordJSONObject, `"x"`},
		{"\ufeff7", RecordJSONObject, `7`},
		{`[9007199254740993,1e-7,100.0,-0.0,1E300,0.9452706955539223]`, RecordJSONArray, `9007199254740993|1e-7|100.0|-0.0|1E300|0.9452706955539223`},
		{`"\u0041\/\u00e4\ud83d\ude00\u0001\u2028"`, RecordJSONObject, "\"A/ä😀\\u0001\u2028\""},
		{`{"a":1,"b":{"c":1,"c":2},"a":[{"d":0,"d":1.50}]}`, RecordJSONObject, `{"a":[{"d":1.50}],"b":{"c":2}}`},
	}
	for _, c := range cases {
		got, p, err := read(t, "application/json", "a", c.body)
		if err != nil || got != c.want || p.RecordType != c.recordType {
			t.Errorf("%s: %s %s, %v", c.body, p.RecordType, got, err)
		}
	}
	for _, body := range []string{``, ` `, `{`, `[1,]`, `[1`, `{"a":1,}`, `1 2`, `[1] [2]`, `nul`, `'a'`, `"\ud800"`, "\"a\xff\"", `01`, `{"a" 1}`, `[1,[2}]`, "\"a\nb\""} {
		_, _, err := read(t, "application/json", "a", body)
		var d *DecodeError
		if !errors.As(err, &d) || d.Format != "json" || !strings.HasSuffix(d.Text, ".") {
			t.Errorf("%q: %v", body, err)
		}
	}
	if _, p, err := read(t, "application/json", "a.yaml", `[1]`); err != nil || p.RecordType != RecordYAMLMapping {
		t.Error(p, err)
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for n, ok := range map[int]bool{MaxDepth + 1: true, MaxDepth + 2: false, 100_000: false} {
		if _, _, err := read(t, "application/json", "a", deep(n)); (err == nil) != ok {
			t.Errorf("depth %d: %v", n, err)
		}
		if _, _, err := read(t, "application/json", "a", `{"a":`+deep(n-2)+`}`); (err == nil) != ok {
			t.Errorf("object of depth %d: %v", n-1, err)
		}
	}
}

func TestJSONLines(t *testing.T) {
	got, p, err := read(t, "text/plain", "a.jsonl", "{\"a\": 1}\r\n\n  \t\n[1, 2]\n\"x\"\n100.0")
	if want := `{"a":1}|[1,2]|"x"|100.0`; err != nil || got != want || p.RecordType != RecordJSONLines {
		t.Errorf("%s, %v, %+v", got, err, p)
	}
	if got, p, err := read(t, "", "a.ndjson", ""); err != nil || got != "" || p.RecordType != RecordJSONLines {
		t.Error(got, p, err)
	}
	_, _, err = read(t, "", "a.jsonl", "1\n{\n2\n")
	var d *DecodeError
	if !errors.As(err, &d) || d.Format != "json" || !strings.Contains(d.Text, "Line 2") {
		t.Error(err)
	}
	// S1: a bad line far behind the page fails the page too.
	if _, err := Records("", "a.jsonl", []byte("1\n2\n{}{}\n"), 0, 1); err == nil {
		t.Error("a page hid a line that does not decode")
	}
}

func TestYAMLDocuments(t *testing.T) {
	cases := []struct{ body, want string }{
		{"", `null`},
		{"# only a comment\n", `null`},
		{"a: 1\nb: [x, y]\n", `{"a":1,"b":["x","y"]}`},
		{"- 1\n- two\n- {k: v}\n", `1|"two"|{"k":"v"}`},
		{"--- x\n...\n", `"x"`},
		{"[]", ``},
		{"a: yes\nb: no\nc: on\nd: true\ne: False\nf: ~\ng:\nh: null\n", `{"a":"yes","b":"no","c":"on","d":true,"e":false,"f":null,"g":null,"h":null}`},
		{"[1, +1, -1, -0, 007, 0x1F, -0x1f, 0o17, 0b1, 1_000, 18446744073709551616]", `1|1|-1|-0|"007"|31|-31|15|"0b1"|"1_000"|18446744073709551616`},
		{"[1.0, .5, 1., -.5e3, 1e3, 1.5E-07, 1e, e1, ., -, +, 1.2.3, 00.5, .inf, -.INF, .nan, +.nan]", `1.0|0.5|1.0|-0.5e3|1e3|1.5E-07|"1e"|"e1"|"."|"-"|"+"|"1.2.3"|"00.5"|null|null|null|"+.nan"`},
		{"[2001-01-01, 12:30:45, 1e+-3, 0x, 0xg, 0x-1, 0o8]", `"2001-01-01"|"12:30:45"|"1e+-3"|"0x"|"0xg"|"0x-1"|"0o8"`},
		{"['1', \"true\", !!str 1, !!int \"7\", !!float 'x', !mine 7, !!binary aGk=]", `"1"|"true"|"1"|7|"x"|"7"|"aGk="`},
		{"1: a\ntrue: b\n~: c\n'x': d\n", `{"1":"a","true":"b","~":"c","x":"d"}`},
		{"a: 1\nb: 2\na: 3\n", `{"a":3,"b":2}`},
		{"a: &x {k: 1}\nb: *x\nc: [*x, *x]\n", `{"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":1}]}`},
		{"base: &b {k: 1}\nuse:\n  <<: *b\n  j: 2\n", `{"base":{"k":1},"use":{"<<":{"k":1},"j":2}}`},
		{"a: |\n  one\n  two\nb: >-\n  three\n  four\n", `{"a":"one\ntwo\n","b":"three four"}`},
		{"&k key: *k\n", `{"key":"key"}`},
		{"日本: 語\n", `{"日本":"語"}`},
	}
	for _, c := range cases {
		got, p, err := read(t, "application/yaml", "a", c.body)
		if err != nil || got != c.want || p.RecordType != RecordYAMLMapping {
			t.Errorf("%q:\n got %s\nwant %s (%v)", c.body, got, c.want, err)
		}
	}
	for _, body := range []string{"a: b: c", "- a\nb", "a\n---\nb\n", "[", "{a", "\"x", "*none", "&a [*a]", "? [1]\n: 2\n", "a: \xff\n", "\"\\ud800\"", "\x00"} {
		_, _, err := read(t, "application/yaml", "a", body)
		var d *DecodeError
		if !errors.As(err, &d) || d.Format != "yaml" || !strings.HasSuffix(d.Text, ".") {
			t.Errorf("%q: %v", body, err)
		}
	}
	for n, ok := range map[int]bool{MaxDepth + 1: true, MaxDepth + 2: false, 9000: false} {
		body := strings.Repeat("[", n) + strings.Repeat("]", n)
		if _, _, err := read(t, "application/yaml", "a", body); (err == nil) != ok {
			t.Errorf("depth %d: %v", n, err)
		}
	}
}

// S4: nine levels of nine aliases each would be a billion strings.
func TestAliasBombIsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [lol]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	_, _, err := read(t, "application/yaml", "a", b.String())
	var d *DecodeError
	if !errors.As(err, &d) || !strings.Contains(d.Text, "aliases") {
		t.Fatal(err)
	}
	worst := "[" + strings.Repeat("{a,b},", 100_000) + "{a}]"
	if _, p, err := read1(worst); err != nil || p.Count != 100_001 {
		t.Fatal(p.Count, err)
	}
}

func read1(body string) (string, Page, error) {
	p, err := Records("application/yaml", "a", []byte(body), 0, 1)
	return "", p, err
}

// checkPages is S1 and S2 for one body.
func checkPages(t *testing.T, contentType string, body []byte, size int) {
	whole, err := Records(contentType, "a", body, 0, 1<<30)
	if err != nil {
		var d *DecodeError
		if !errors.As(err, &d) && err != ErrInvalidUTF8 {
			t.Fatalf("uncoded: %v", err)
		}
		if _, again := Records(contentType, "a", body, 3, size); again == nil || again.Error() != err.Error() {
			t.Fatalf("whole fails with %v, a page with %v", err, again)
		}
		return
	}
	if whole.Count != len(whole.Items) {
		t.Fatalf("%d records, %d items", whole.Count, len(whole.Items))
	}
	for _, item := range whole.Items {
		canonical, err := jsontext.AppendFormat(nil, item)
		if err != nil || !bytes.Equal(canonical, item) {
			t.Fatalf("%q is not compact without duplicates: %q %v", item, canonical, err)
		}
		if tooDeep(item, MaxDepth) {
			t.Fatalf("%q is too deep", item)
		}
	}
	var joined [][]byte
	for at := 0; at < whole.Count && at < 50; at += size {
		p, err := Records(contentType, "a", body, at, size)
		if err != nil || p.Count != whole.Count || p.RecordType != whole.RecordType || len(p.Items) != min(size, whole.Count-at) {
			t.Fatalf("page at %d: %+v, %v", at, p, err)
		}
		joined = append(joined, p.Items...)
	}
	if !reflect.DeepEqual(joined, whole.Items[:len(joined):len(joined)]) && len(joined) > 0 {
		t.Fatalf("pages %q, whole %q", joined, whole.Items)
	}
	if past, err := Records(contentType, "a", body, whole.Count, 1); err != nil || len(past.Items) != 0 || past.Count != whole.Count {
		t.Fatalf("past the end: %+v, %v", past, err)
	}
}

func FuzzRecords(f *testing.F) {
	for _, s := range []string{"", "[1,2]", "{\"a\":1,\"a\":2}", "a\r\nb", "- 1\n- &x 2\n- *x", "1\n{}\n", "\xff", "a: {b: 0x10}", "\"\\ud800\"", "[[[[", "%YAML 1.2\n---\nx", "? a\n", "!!map {a: b}", "a: !!null\n"} {
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		if len(body) > 1<<16 || size < 1 || size > 300 {
			return
		}
		for _, contentType := range []string{"application/json", "application/jsonl", "application/yaml", "text/plain"} {
			checkPages(t, contentType, body, size)
		}
	})
}

// FuzzJSONMeaning compares items with what encoding/json makes of the body.
func FuzzJSONMeaning(f *testing.F) {
	for _, s := range []string{`[1,2]`, `{"a":1,"a":{"b":[]}}`, `"\u0041"`, `[-0.0,1e5]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p, err := Records("application/json", "a", []byte(body), 0, 1<<30)
		if err != nil || strings.HasPrefix(body, string(byteOrderMark)) {
			return
		}
		decode := func(s string) (v any) {
			d := json.NewDecoder(strings.NewReader(s))
			d.UseNumber()
			if err := d.Decode(&v); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
			return v
		}
		want := decode(body)
		items := make([]string, len(p.Items))
		for i, item := range p.Items {
			items[i] = string(item)
		}
		got := strings.Join(items, ",")
		if p.RecordType == RecordJSONArray {
			got = "[" + got + "]"
		}
		if v := decode(got); !reflect.DeepEqual(v, want) {
			t.Fatalf("%q became %q", body, got)
		}
	})
}

// FuzzLines is S3.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "\n", "a\r\nb", "a\r", "\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var lines [][]byte
		for rest := text; len(rest) > 0; {
			var line []byte
			line, rest = NextLine(rest)
			lines = append(lines, line)
		}
		if len(lines) != CountLines(text) {
			t.Fatalf("%d lines counted, %d found", CountLines(text), len(lines))
		}
		back := bytes.Join(lines, []byte("\n"))
		if bytes.HasSuffix(text, []byte("\n")) {
			back = append(back, '\n')
		}
		plain := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		if !bytes.Equal(back, plain) {
			t.Fatalf("%q became %q", text, back)
		}
	})
}

func BenchmarkTextPage(b *testing.B) {
	body := bytes.Repeat([]byte("a line of some forty characters, or so.\n"), 25_000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if p, err := Records("text/plain", "a", body, 0, 100); err != nil || p.Count != 25_000 {
			b.Fatal(p.Count, err)
		}
	}
}

func BenchmarkJSONPage(b *testing.B) {
	body := []byte("[" + strings.Repeat(`{"id":12345,"name":"someone","tags":["a","b"]},`, 20_000) + "1]")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if p, err := Records("application/json", "a", body, 0, 100); err != nil || p.Count != 20_001 {
			b.Fatal(p.Count, err)
		}
	}
}
