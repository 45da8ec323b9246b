package value

import (
	"strings"
	"testing"
)

func decode(t *testing.T, s string) any {
	t.Helper()
	v, err := Decode([]byte(s))
	if err != nil {
		t.Fatalf("Decode(%s): %v", s, err)
	}
	return v
}

// V1.
func TestDecodeRefusesWhatIsNotOneValue(t *testing.T) {
	for _, bad := range []string{
		``, ` `, `{`, `[1`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":1}}`, `{"a":1} 2`, `{"a":1}x`, "\"\xff\"", `"\ud800"`, `01`, `{"a"}`, `[1,]`, `nul`,
	} {
		if v, err := Decode([]byte(bad)); err == nil {
			t.Errorf("Decode(%q) accepted it as %s", bad, Encode(v))
		}
	}
}

// V2.
func TestCanonicalFormIsOneSpelling(t *testing.T) {
	for _, spelling := range []string{
		`{"b":[1,2.50,{"z":null,"y":true}],"a":"é\n"}`,
		"{ \"a\" : \"\\u00e9\\u000a\",\n\"b\" : [1, 2.50, {\"y\":true, \"z\":null}] }",
	} {
		if got, want := string(Encode(decode(t, spelling))), `{"a":"é\n","b":[1,2.50,{"y":true,"z":null}]}`; got != want {
			t.Errorf("Encode(%s) = %s, want %s", spelling, got, want)
		}
	}
}

func TestNumbersKeepTheirLiterals(t *testing.T) {
	in := `[9007199254740993,1e-7,100.0,100,-0]`
	if got := string(Encode(decode(t, in))); got != in {
		t.Errorf("got %s, want %s", got, in)
	}
	if Equal(decode(t, "100"), decode(t, "100.0")) {
		t.Error("100 and 100.0 compare equal")
	}
}

func TestAtFollowsMembersAndIndexes(t *testing.T) {
	v := decode(t, `{"entries":[{"name":"a"},{"name":"b"}]}`)
	if got, ok := At(v, "entries.1.name"); !ok || got != "b" {
		t.Errorf("got %v, %v", got, ok)
	}
	for _, path := range []string{"entries.2.name", "entries.x", "nothing", "entries.0.name.more", ""} {
		if got, ok := At(v, path); ok {
			t.Errorf("At(%q) = %v, want nothing", path, got)
		}
	}
}

func TestMatch(t *testing.T) {
	env := Names{"g1": Number("7"), "dir": "a/b", "trap": "$any"}
	for _, c := range []struct{ pattern, got, want string }{
		{`{"a":1}`, `{"a":1}`, ``},
		{`{"a":1}`, `{"a":1,"b":2}`, `$.b: not expected`},
		{`{"a":1,"...":"$any"}`, `{"a":1,"b":2}`, ``},
		{`{"a":1,"b":2}`, `{"a":1}`, `$.b: missing`},
		{`{"a":null}`, `{}`, `$.a: missing`},
		{`{"a":null}`, `{"a":null}`, ``},
		{`[1,2]`, `[2,1]`, `$[0]: want 1, got 2`},
		{`[1,2]`, `[1,2,3]`, `want 2 elements, got 3`},
		{`{"a":[{"b":"$int"}]}`, `{"a":[{"b":"7"}]}`, `$.a[0].b: want $int`},
		{`"$int"`, `7`, ``},
		{`"$int"`, `-7`, ``},
		{`"$int"`, `7.0`, `want $int`},
		{`"$int"`, `1e3`, `want $int`},
		{`"$any"`, `null`, ``},
		{`"$time"`, `"2026-01-02T03:04:05Z"`, ``},
		{`"$time"`, `"2026-01-02T03:04:05.125Z"`, ``},
		{`"$time"`, `"2026-01-02T03:04:05+01:00"`, `want $time`},
		{`"$time"`, `"yesterdayZ"`, `want $time`},
		{`"$uuid"`, `"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`, ``},
		{`"$uuid"`, `"6BA7B810-9dad-11d1-80b4-00c04fd430c8"`, `want $uuid`},
		{`"$uuid"`, `"6ba7b8109dad11d180b400c04fd430c8"`, `want $uuid`},
		{`"$sha256"`, `"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"`, ``},
		{`"$sha256"`, `"sha256:44136FA355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"`, `want $sha256`},
		{`"$sha256"`, `"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"`, `want $sha256`},
		{`"$cursor"`, `"r:1"`, ``},
		{`"$cursor"`, `""`, `want $cursor`},
		{`"$cursor"`, `null`, `want $cursor`},
		{`"${g1}"`, `7`, ``},
		{`"${g1}"`, `"7"`, `want 7, got "7"`},
		{`"/agents/${dir}/c"`, `"/agents/a/b/c"`, ``},
		{`"n${g1}"`, `"n7"`, ``},
		{`"${sha256:}"`, `"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`, ``},
		{`"${base64:${dir}}"`, `"YS9i"`, ``},
		{`"${repeat:3:ab}"`, `"ababab"`, ``},
		{`"$$any"`, `"$any"`, ``},
		{`"a$b"`, `"a$b"`, ``},
		{`"$"`, `"$"`, ``},
		{`"${trap}"`, `"anything"`, `want "$any", got "anything"`},
		{`"${trap}"`, `"$any"`, ``},
	} {
		pattern, err := CompilePattern(decode(t, c.pattern))
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		pattern, err = Resolve(pattern, env)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		got := strings.Join(Match(pattern, decode(t, c.got)), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("Match(%s, %s) = %q, want %q", c.pattern, c.got, got, c.want)
		}
	}
}

func TestBadPatternsAreRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		`"$integer"`:         "no matcher",
		`{"...":1}`:          `"...": "$any"`,
		`"${g1"`:             "does not close",
		`"${G1}"`:            "not a name",
		`"${upper:x}"`:       "no function",
		`"${repeat:many:x}"`: "COUNT",
		`{"a":["${}"]}`:      "not a name",
	} {
		if _, err := CompilePattern(decode(t, pattern)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CompilePattern(%s): %v, want %q", pattern, err, want)
		}
	}
	if _, err := CompileArguments(decode(t, `{"a":"$int"}`)); err == nil {
		t.Error("a matcher was accepted in arguments")
	}
	if _, err := Resolve(mustCompile(t, `"${nobody}"`), Names{}); err == nil {
		t.Error("a name that nothing saved was resolved")
	}
}

func mustCompile(t *testing.T, s string) any {
	t.Helper()
	v, err := CompilePattern(decode(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestUsesNamesEveryHole(t *testing.T) {
	var names []string
	Uses(mustCompile(t, `["${a}", {"x": "p${b}${sha256:${c}}"}]`), func(n string) { names = append(names, n) })
	if got := strings.Join(names, ""); got != "abc" {
		t.Errorf("got %q, want abc", got)
	}
}
