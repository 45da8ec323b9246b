package main

import (
	"strings"
	"testing"
)

func TestCompareNamesEveryDifference(t *testing.T) {
	want := map[string][]byte{"a.go": []byte("one\ntwo\n"), "b.go": []byte("b\n"), "c.go": []byte("same\n"), "e.go": []byte("x\ny")}
	have := map[string][]byte{"a.go": []byte("one\n2\n"), "c.go": []byte("same\n"), "d.go": []byte("d\n"), "e.go": []byte("x")}
	got := strings.Join(compare(want, have), "\n")
	wantText := `  different  gen/a.go, line 2:
    is      2
    should  two
  missing    gen/b.go
  unknown    gen/d.go (no generator writes it)
  different  gen/e.go, line 2:
    is      (the file ends)
    should  y`
	if got != wantText {
		t.Errorf("got\n%s\nwant\n%s", got, wantText)
	}
	if lines := compare(want, want); len(lines) != 0 {
		t.Errorf("a tree differs from itself: %v", lines)
	}
}

func TestCompareSeesAShorterAndALongerFile(t *testing.T) {
	for _, c := range [][2]string{{"x\n", "x\ny\n"}, {"x\ny\n", "x\n"}} {
		if lines := compare(map[string][]byte{"f": []byte(c[0])}, map[string][]byte{"f": []byte(c[1])}); len(lines) != 1 {
			t.Errorf("%q against %q gives %v", c[0], c[1], lines)
		}
	}
}
