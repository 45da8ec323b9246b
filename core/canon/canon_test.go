package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func canonical(t *testing.T, src string) string {
	t.Helper()
	out, err := Append(nil, []byte(src))
	if err != nil {
		t.Fatalf("Append(%q): %v", src, err)
	}
	return string(out)
}

// CAN-1, CAN-2.
func TestOneSpelling(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"compact", " { \"a\" :\t[ 1 ,\r\n2 ] } ", `{"a":[1,2]}`},
		{"sorted at every depth", `{"z":{"b":2,"a":1},"a":[2,1]}`, `{"a":[2,1],"z":{"a":1,"b":2}}`},
		{"sorted inside arrays", `[{"b":1,"a":[{"d":0,"c":0}]}]`, `[{"a":[{"c":0,"d":0}],"b":1}]`},
		{"a prefix comes first", `{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		// U+FF61 is one UTF-16 unit above the surrogates, U+1F600 needs two: the
		// order by UTF-16 would be the other way round.
		{"sorted by UTF-8", `{"😀":1,"｡":2}`, `{"｡":2,"😀":1}`},
		{"sorted by the decoded name", `{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		// NUL is the least byte, although its escape begins with a backslash.
		{"escaped names sort decoded", `{" ":1,"\u0000":2,"\n":3}`, `{"\u0000":2,"\n":3," ":1}`},
		{"quotes in names", `{"#":1,"\"":2,"\\":3}`, `{"\"":2,"#":1,"\\":3}`},
		{"last duplicate wins", `{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`},
		{"duplicates meet decoded", `{"a":1,"\u0061":2}`, `{"a":2}`},
		{"duplicates beside each other", `{"a":{"x":1},"a":[]}`, `{"a":[]}`},
		{"empties", `[{},[],"",null,true,false]`, `[{},[],"",null,true,false]`},
		{"short escapes", `"\u0022\u005c\u0008\u000c\u000a\u000d\u0009"`, `"\"\\\b\f\n\r\t"`},
		{"other controls", `"\u0000\u001F\u000b"`, `"\u0000\u001f\u000b"`},
		{"no needless escapes", `"\/\u003c\u003e\u0026\u007f\u2028\u2029"`, "\"/<>&\x7f\u2028\u2029\""},
		{"surrogate pairs", `"\ud83d\ude00\uD834\uDD1E"`, `"😀𝄞"`},
		{"raw UTF-8", `"żółć \u017c"`, `"żółć ż"`},
		{"scalar at the top", ` 7 `, `7`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := canonical(t, c.src)
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if again := canonical(t, got); again != got {
				t.Errorf("not a fixed point: %s, then %s", got, again)
			}
			if !IsCanonical([]byte(got)) || (c.src != got && IsCanonical([]byte(c.src))) {
				t.Errorf("IsCanonical disagrees with Append")
			}
		})
	}
}

// CAN-3, CAN-4. The float spellings that clients are known to rely on
// are among the rows.
func TestNumbers(t *testing.T) {
	for src, want := range map[string]string{
		"0": "0", "7": "7", "-7": "-7",
		"9007199254740993":     "9007199254740993",
		"9223372036854775807":  "9223372036854775807",
		"18446744073709551615": "18446744073709551615",
		"-9223372036854775808": "-9223372036854775808",
		"18446744073709551616": "1.8446744073709552e+19",
		"-9223372036854775809": "-9.223372036854776e+18",
		"-0":                   "-0.0", "-0.0": "-0.0", "0.0": "0.0", "-0e9": "-0.0", "0e0": "0.0",
		"100.0": "100.0", "1E2": "100.0", "1e+2": "100.0", "1.50": "1.5",
		"1e15": "1000000000000000.0", "1e16": "1e+16", "123456789012345680": "123456789012345680",
		"9999999999999998.0": "9999999999999998.0", "1.5e16": "1.5e+16", "-2.5e300": "-2.5e+300",
		"1e-5": "0.00001", "1e-6": "1e-6", "1.5e-5": "0.000015", "1.5e-6": "1.5e-6", "1e-7": "1e-7",
		"0.1": "0.1", "0.30000000000000004": "0.30000000000000004",
		// Correct rounding, where a fast parser is off by one unit.
		"0.9452706955539223":            "0.9452706955539223",
		"2.2250738585072011e-308":       "2.225073858507201e-308",
		"9007199254740993.0":            "9007199254740992.0",
		"1.7976931348623157e308":        "1.7976931348623157e+308",
		"5e-324":                        "5e-324",
		"2e-324":                        "0.0",
		"-1e-400":                       "-0.0",
		"0.0000000000000000000000000e9": "0.0",
		// More digits than any float keeps; the tail decides the rounding.
		"9007199254740992.999999999999999999999999999999999999": "9007199254740992.0",
		"9007199254740993.000000000000000000000000000000000001": "9007199254740994.0",
	} {
		if got := canonical(t, src); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
}

// CAN-5.
func TestRefusals(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	deepObject := strings.Repeat(`{"a":`, MaxDepth+1) + "0" + strings.Repeat("}", MaxDepth+1)
	for _, c := range []struct {
		name, src string
		rule      Rule
		offset    int
	}{
		{"nothing", "", RuleSyntax, 0},
		{"only space", "  ", RuleSyntax, 2},
		{"two values", "1 2", RuleTrailing, 2},
		{"leading zero", "01", RuleTrailing, 1},
		{"plus sign", "+1", RuleSyntax, 0},
		{"bare minus", "-", RuleSyntax, 1},
		{"bare point", ".5", RuleSyntax, 0},
		{"no fraction", "1.", RuleSyntax, 2},
		{"no exponent", "1e+", RuleSyntax, 3},
		{"not a number", "NaN", RuleSyntax, 0},
		{"literal cut short", "nul", RuleSyntax, 0},
		{"literal in capitals", "True", RuleSyntax, 0},
		{"comma at the end", "[1,]", RuleSyntax, 3},
		{"comma at the start", "[,1]", RuleSyntax, 1},
		{"member comma at the end", `{"a":1,}`, RuleSyntax, 7},
		{"no colon", `{"a" 1}`, RuleSyntax, 5},
		{"bare name", `{a:1}`, RuleSyntax, 1},
		{"open array", "[1", RuleSyntax, 2},
		{"open object", `{"a":1`, RuleSyntax, 6},
		{"open string", `"abc`, RuleSyntax, 4},
		{"wrong bracket", `[1}`, RuleSyntax, 2},
		{"control in string", "\"a\nb\"", RuleSyntax, 2},
		{"unknown escape", `"\x41"`, RuleSyntax, 1},
		{"short hex", `"\u12"`, RuleSyntax, 1},
		{"escape at the end", `"\`, RuleSyntax, 2},
		{"comment", "/* */ 1", RuleSyntax, 0},
		{"byte order mark", "\ufeff1", RuleSyntax, 0},
		{"bad UTF-8", "\"a\xff\"", RuleUTF8, 2},
		{"overlong UTF-8", "\"\xc0\x80\"", RuleUTF8, 1},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", RuleUTF8, 1},
		{"lone high surrogate", `"\ud800"`, RuleUTF8, 1},
		{"lone low surrogate", `"\udc00"`, RuleUTF8, 1},
		{"two high surrogates", `"\ud800\ud800"`, RuleUTF8, 1},
		{"too large", "[1e400]", RuleRange, 1},
		{"too deep", deep(MaxDepth + 1), RuleDepth, MaxDepth},
		{"objects too deep", deepObject, RuleDepth, 5 * MaxDepth},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept := []byte("kept")
			out, err := Append(kept, []byte(c.src))
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Fatalf("Append gave %q, %v", out, err)
			}
			if refusal.Rule != c.rule || refusal.Offset != c.offset {
				t.Errorf("got %v, want %s at byte %d", refusal, c.rule, c.offset)
			}
			if string(out) != "kept" { // CAN-6
				t.Errorf("dst is %q after a refusal", out)
			}
		})
	}
	if got := canonical(t, deep(MaxDepth)); got != deep(MaxDepth) {
		t.Errorf("%d open brackets must pass", MaxDepth)
	}
}

func TestStrictRefusesDuplicates(t *testing.T) {
	for src, offset := range map[string]int{
		`{"a":1,"a":2}`:              7,
		`{"b":1,"a":2,"b":3}`:        13,
		`[{"x":{"a":1,"\u0061":1}}]`: 13,
	} {
		_, err := AppendStrict(nil, []byte(src))
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Rule != RuleDuplicate || refusal.Offset != offset {
			t.Errorf("%s: got %v, want %s at byte %d", src, err, RuleDuplicate, offset)
		}
	}
	if out, err := AppendStrict(nil, []byte(`{"b":{"a":1},"a":1}`)); err != nil || string(out) != `{"a":1,"b":{"a":1}}` {
		t.Errorf("one name in two objects: %s, %v", out, err)
	}
}

func TestAppendStringAgreesWithText(t *testing.T) {
	var every strings.Builder
	for r := rune(0); r < 0x300; r++ {
		every.WriteRune(r)
	}
	every.WriteString("\u2028😀\U0010ffff")
	quoted, err := json.Marshal(every.String())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(AppendString(nil, every.String())), canonical(t, string(quoted)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(AppendString(nil, "a\xffb")); got != "\"a\ufffdb\"" {
		t.Errorf("bad UTF-8: got %q", got)
	}
}

func TestAppendFloatRefusesWhatIsNoNumber(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("AppendFloat(%v) did not panic", f)
				}
			}()
			AppendFloat(nil, f)
		}()
	}
}

// FuzzAppend holds the invariants against any text, with the standard
// library's parser as the witness of meaning.
func FuzzAppend(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.5,{"a":null,"\u0000":"\ud83d\ude00"}],"a":-0,"b":1e-7}`,
		`[18446744073709551616,9007199254740993,100.0,1e16,5e-324]`,
		`{"\"":1,"\\":2,"/":3}`, `"\ud800"`, `[[[[]]]]`, `{"a":1,"a":2}`, " 1", "01", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		out, err := Append([]byte("kept"), src)
		if string(out[:4]) != "kept" {
			t.Fatal("bytes before the value were touched")
		}
		if err != nil {
			refusal := err.(*Error)
			if refusal.Offset < 0 || refusal.Offset > len(src) || string(out) != "kept" {
				t.Fatalf("refusal %v of %d bytes left %q", refusal, len(src), out)
			}
			if refusal.Rule == RuleSyntax && json.Valid(src) {
				t.Fatalf("%v, but %q is JSON", refusal, src)
			}
			return
		}
		out = out[4:]
		if !json.Valid(src) {
			t.Fatalf("%q is not JSON, but became %q", src, out)
		}
		again, err := AppendStrict(nil, out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("not a fixed point: %q, then %q, %v", out, again, err)
		}
		if was, is := meaning(t, src), meaning(t, out); !reflect.DeepEqual(was, is) {
			t.Fatalf("%q means %v, but %q means %v", src, was, out, is)
		}
		strict, err := AppendStrict(nil, src)
		if err == nil && !bytes.Equal(strict, out) {
			t.Fatalf("the strict form differs: %q and %q", strict, out)
		}
	})
}

// meaning decodes JSON with the standard library; numbers become integers
// where exact, floats elsewhere.
func meaning(t *testing.T, text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return exact(t, v)
}

func exact(t *testing.T, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = exact(t, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(t, v[k])
		}
	case json.Number:
		if v == "-0" {
			return math.Float64bits(math.Copysign(0, -1))
		}
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return u
		}
		f, err := strconv.ParseFloat(v.String(), 64)
		if err != nil {
			t.Fatalf("number out of range went through: %s", v)
		}
		return math.Float64bits(f) // bits: -0 differs from 0
	}
	return v
}

func FuzzFloat(f *testing.F) {
	for _, v := range []float64{0, 1, 0.1, 1e15, 1e16, 1e-5, 1e-6, 5e-324, math.MaxFloat64, -2.5e-9} {
		f.Add(math.Float64bits(v))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		v := math.Float64frombits(bits)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		text := AppendFloat(nil, v)
		back, err := strconv.ParseFloat(string(text), 64)
		if err != nil || math.Float64bits(back) != bits {
			t.Fatalf("%x is written %s, read %x, %v", bits, text, math.Float64bits(back), err)
		}
		if !bytes.ContainsAny(text, ".e") {
			t.Fatalf("%s looks like an integer", text)
		}
		if !IsCanonical(text) {
			t.Fatalf("%s is not canonical", text)
		}
	})
}
