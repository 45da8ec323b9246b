package needle

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// lossy is what N1 says of text that is not UTF-8, by the table of well-formed
// sequences.
func lossy(text []byte) []rune {
	table := [][][2]byte{
		{{0x00, 0x7F}},
		{{0xC2, 0xDF}, {0x80, 0xBF}},
		{{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}},
		{{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}},
		{{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}},
		{{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}},
		{{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
		{{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
		{{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}},
	}
	out := []rune{}
	for len(text) > 0 {
		longest, whole := 1, false
		for _, row := range table {
			n := 0
			for n < len(row) && n < len(text) && row[n][0] <= text[n] && text[n] <= row[n][1] {
				n++
			}
			longest, whole = max(longest, n), whole || n == len(row)
		}
		if whole {
			r, _ := utf8.DecodeRune(text[:longest])
			out = append(out, r)
		} else {
			out = append(out, utf8.RuneError)
		}
		text = text[longest:]
	}
	return out
}

func naiveLower(runes []rune) string {
	var b strings.Builder
	for _, r := range runes {
		switch r {
		case 0x130:
			b.WriteString("i\u0307")
		case 'ς':
			b.WriteRune('σ')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// naive does what the package comment says, a line at a time.
func naive(text []byte, patterns []string) (found []Match) {
	n := int64(0)
	for len(text) > 0 {
		n++
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		text = rest
		if ended {
			line = bytes.TrimSuffix(line, []byte{'\r'})
		}
		runes := lossy(line)
		low := naiveLower(runes)
		for _, p := range patterns {
			if strings.Contains(low, naiveLower([]rune(p))) {
				found = append(found, Match{n, string(runes[:min(len(runes), SnippetScalars)])})
				break
			}
		}
	}
	return found
}

// scan reads a text in pieces of random length; now and then it is interrupted,
// and goes on with another scanner.
func scan(t testing.TB, rng *rand.Rand, text []byte, patterns []string) (found []Match) {
	n := Compile(patterns)
	pos := Start()
	for pages := 0; ; pages++ {
		if pages > 10*len(text)+10 {
			t.Fatalf("no end: %+v", pos)
		}
		if pos.Offset > int64(len(text)) || pos.LineStart > pos.Offset {
			t.Fatalf("%+v in a text of %d bytes", pos, len(text))
		}
		s := NewScanner(n)
		limit := 1 + rng.IntN(4)
		s.Begin(pos, text[pos.LineStart:][:pos.HeadLen()], limit)
		// Enough to get on, even when the line has to be read again.
		budget := headLen + n.reach + 8 + rng.IntN(2000)
		full := false
		rest := text[pos.Offset:]
		for len(rest) > 0 && budget > 0 && !full {
			k := min(len(rest), 1+rng.IntN([]int{3, 20, 400, 5000}[rng.IntN(4)]))
			_, err := s.Write(rest[:k])
			if full = errors.Is(err, ErrFull); err != nil && !full {
				t.Fatal(err)
			}
			rest = rest[k:]
			budget -= k
		}
		over := !full && len(rest) == 0
		if over {
			s.End()
		}
		if len(s.Matches) > limit {
			t.Fatalf("%d matches, and the limit is %d", len(s.Matches), limit)
		}
		found = append(found, s.Matches...)
		if over {
			return found
		}
		pos = s.Position()
	}
}

func check(t testing.TB, rng *rand.Rand, text []byte, patterns []string) {
	t.Helper()
	got, want := scan(t, rng, text, patterns), naive(text, patterns)
	if !slices.Equal(got, want) {
		t.Fatalf("%q in %q:\n got %+v\nwant %+v", patterns, text, got, want)
	}
}

var atoms = []string{
	"a", "A", "b", "B", "c", "k", "K", "\u212a", "i", "I", "\u0130", "ı", "\u0307", "σ", "Σ", "ς", "я", "Я", "é", "É", "ß", "ẞ", "Ⱥ", "ⱥ", "\u2126", "ω",
	"日", "本", "語", "😀", "\uFFFD", "ǅ", "_", "7", " ", ".", "\xE6", "\x97", "\xA5", "\xFF", "\xC4", "\xB0", "\xE2", "\x84", "\xAA", "\xF0\x9F", "\xED\xA0\x80", "\xC3",
}

func randomText(rng *rand.Rand, atoms []string, n int, lines bool) string {
	var b strings.Builder
	for range n {
		switch r := rng.IntN(24); {
		case lines && r == 0:
			b.WriteString("\n")
		case lines && r == 1:
			b.WriteString("\r\n")
		case r == 2:
			b.WriteString("\r")
		case lines && r == 3 && rng.IntN(8) == 0:
			b.WriteString(strings.Repeat(atoms[rng.IntN(len(atoms))], rng.IntN(1500)))
		default:
			b.WriteString(atoms[rng.IntN(len(atoms))])
		}
	}
	return b.String()
}

// N1, N2, N3 against the naive way.
func TestLinesAreThoseOfTheNaiveWay(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 2000
	}
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 1))
		// Few different atoms make many near misses.
		some := atoms
		if seed%3 > 0 {
			some = make([]string, 1+rng.IntN(6))
			for i := range some {
				some[i] = atoms[rng.IntN(len(atoms))]
			}
		}
		text := randomText(rng, some, rng.IntN(300), true)
		var patterns []string
		for range 1 + rng.IntN(4) {
			p := strings.ToValidUTF8(randomText(rng, some, 1+rng.IntN(5), false), "\uFFFD")
			if rng.IntN(20) == 0 {
				p = strings.Repeat(p, 1+rng.IntN(40))
			}
			patterns = append(patterns, p)
		}
		check(t, rng, []byte(text), patterns)
	}
}

func TestFolding(t *testing.T) {
	for _, c := range []struct {
		pattern, line string
		want          bool
	}{
		{"HELLO", "say hello", true},
		{"kelvin", "\u212aELVIN", true},
		{"\u212aelvin", "kelvin", true},
		{"i", "\u0130stanbul", true},
		{"istanbul", "\u0130stanbul", false}, // the dot is between i and s
		{"\u0130stanbul", "i\u0307stanbul", true},
		{"\u0307stan", "\u0130stan", true},
		{"ΟΔΟΣ", "οδος", true},
		{"οδος", "ΟΔΟΣ", true},
		{"straße", "STRASSE", false},
		{"ẞ", "ß", true},
		{"ПРИВЕТ", "скажи привет", true},
		{"日本", "私は日本語", true},
		{"a.c", "abc", false},
		{"å", "\u212b", true},
	} {
		got := len(scan(t, rand.New(rand.NewPCG(1, 1)), []byte(c.line), []string{c.pattern})) == 1
		if got != c.want {
			t.Errorf("%q in %q: %v", c.pattern, c.line, got)
		}
	}
}

// Every rune is found by itself and by its lower case, whatever it is.
func TestEveryRuneFindsItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if r == '\n' || r == '\r' || !utf8.ValidRune(r) {
			continue
		}
		low := unicode.ToLower(r)
		if low == r && r > 0x3000 && rng.IntN(200) != 0 {
			continue
		}
		line := []byte("x" + string(r))
		for _, p := range []string{string(r), naiveLower([]rune{r})} {
			if got := scan(t, rng, line, []string{p}); len(got) != 1 {
				t.Fatalf("%U is not found by %q", r, p)
			}
		}
	}
}

func TestALineAsLongAsTheText(t *testing.T) {
	s := NewScanner(Compile([]string{"needle"}))
	s.Begin(Start(), nil, 10)
	piece := bytes.Repeat([]byte("hay "), 16<<10)
	if allocs := testing.AllocsPerRun(200, func() {
		if _, err := s.Write(piece); err != nil {
			t.Fatal(err)
		}
	}); allocs > 0 {
		t.Errorf("a piece costs %v allocations", allocs)
	}
	for _, p := range []string{"nee", "DLE!", "\n", "needle"} {
		if _, err := s.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	s.End()
	want := []Match{{1, strings.Repeat("hay ", 60)}, {2, "needle"}}
	if !slices.Equal(s.Matches, want) {
		t.Errorf("%+v", s.Matches)
	}
	if c := cap(s.seam) + cap(s.low) + cap(s.head) + cap(s.carry); c > 16<<10 {
		t.Errorf("%d bytes of memory", c)
	}
}

func TestNUL(t *testing.T) {
	s := NewScanner(Compile([]string{"a"}))
	s.Begin(Start(), nil, 1)
	if _, err := s.Write([]byte("a\nb\x00")); !errors.Is(err, ErrNUL) {
		t.Error(err)
	}
	s.Begin(Start(), nil, 1)
	if _, err := s.Write([]byte("a\nb")); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	s.Mute()
	if _, err := s.Write([]byte("a\n")); err != nil || len(s.Matches) != 1 {
		t.Error(err)
	}
	if _, err := s.Write([]byte("\x00")); !errors.Is(err, ErrNUL) {
		t.Error(err)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("Hello\r\nworld\n"), "hello", "WORLD", uint64(1))
	f.Add([]byte("\u0130\u212a\xE2\x84\n"), "i", "\uFFFD", uint64(2))
	f.Add([]byte("a\r\na\r"), "a\r", "\r", uint64(3))
	f.Fuzz(func(t *testing.T, text []byte, p, q string, seed uint64) {
		if p == "" || q == "" || !utf8.ValidString(p) || !utf8.ValidString(q) || bytes.IndexByte(text, 0) >= 0 || len(text) > 1<<16 {
			return
		}
		check(t, rand.New(rand.NewPCG(seed, 2)), text, []string{p, q})
	})
}

// corpus is text like that of logs and sources.
func corpus(n int) []byte {
	rng := rand.New(rand.NewPCG(9, 9))
	words := strings.Fields(`the quick brown fox jumps over a lazy dog INFO WARN request user session took ms error failed while reading
		connection from host port retry GET POST status func return package import string int err nil value key store index page`)
	var b bytes.Buffer
	for b.Len() < n {
		for range 4 + rng.IntN(12) {
			fmt.Fprintf(&b, "%s ", words[rng.IntN(len(words))])
		}
		fmt.Fprintf(&b, "%d\n", rng.IntN(1e6))
	}
	return b.Bytes()[:n]
}

func BenchmarkScan(b *testing.B) {
	text := corpus(16 << 20)
	if name := os.Getenv("NEEDLE_TEXT"); name != "" {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			b.Fatal(err)
		}
	}
	for name, patterns := range map[string][]string{
		"one":    {"absent needle"},
		"common": {"ettea"},
		"kelvin": {"kiki"},
		"four":   {"absent needle", "not there", "zebra crossing", "quizzical"},
		"cjk":    {"日本語"},
		"cased":  {"привет"},
	} {
		b.Run(name, func(b *testing.B) {
			s := NewScanner(Compile(patterns))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Begin(Start(), nil, 300)
				for rest := text; len(rest) > 0; {
					k := min(len(rest), 64<<10)
					if _, err := s.Write(rest[:k]); err != nil {
						b.Fatal(err)
					}
					rest = rest[k:]
				}
				s.End()
			}
		})
	}
}

// A text and patterns that agree for a long time at every position cost a time
// that depends on their lengths, not on the product; what is found is the same.
func TestTextsThatAreMadeForIt(t *testing.T) {
	text := bytes.Repeat([]byte("aA"), 1<<20)
	for _, c := range []struct {
		pattern string
		want    int
	}{
		{strings.Repeat("a", 16<<10-1) + "z", -1},
		{"z" + strings.Repeat("a", 16<<10-1), -1},
		{strings.Repeat("ab", 100), -1},
		{strings.Repeat("a", 5000) + "Z", len(text) - 5000},
	} {
		in := text
		if c.want >= 0 {
			in = append(bytes.Clone(text), 'z', 'a', 'a')
		}
		p := newProbe([]byte(Fold(c.pattern)))
		if got := p.next(in, 0); got != c.want {
			t.Errorf("%.10s…: at %d, want %d", c.pattern, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		word := func(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = "ab"[rng.IntN(2)*rng.IntN(2)]
			}
			return b
		}
		in, pattern := word(rng.IntN(300)), word(1+rng.IntN(8))
		p := newProbe(pattern)
		if got, want := p.steady(in, 0), bytes.Index(in, pattern); got != want {
			t.Fatalf("%s in %s: at %d, want %d", pattern, in, got, want)
		}
	}
}
