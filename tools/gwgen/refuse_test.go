package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is refused into the golden files")

// TestTheBaseIsAdmitted shows that the small sources in testdata/base agree, so that a refusal below comes from the edit.
func TestTheBaseIsAdmitted(t *testing.T) {
	src, err := load("testdata/base")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := src.String(), "3 operations, 2 procedures, 3 frames, 4 reasons, 1 limits"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDriftIsRefused edits the base in one way a file and demands exactly the messages in it. A golden file is txtar:
// what the edit is in its comment, one section "edit FILE" or "drop FILE" for each edit (the old text, a line of "=>",
// the new text), and the messages in the section "refused".
func TestDriftIsRefused(t *testing.T) {
	files, err := filepath.Glob("testdata/refused/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 40 {
		t.Errorf("only %d golden files", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			golden, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("testdata/base")); err != nil {
				t.Fatal(err)
			}
			want := -1
			for i, f := range golden.Files {
				verb, name, _ := strings.Cut(f.Name, " ")
				switch verb {
				case "edit":
					edit(t, filepath.Join(dir, name), string(f.Data))
				case "refused":
					want = i
				default:
					t.Fatalf("section %q", f.Name)
				}
			}
			_, err = load(dir)
			if err == nil {
				t.Fatal("the sources are admitted")
			}
			got := strings.ReplaceAll(err.Error(), dir, "DIR")
			var r *refusal
			if errors.As(err, &r) {
				got = r.problems.String()
			}
			got = strings.TrimSuffix(got, "\n") + "\n"
			if *update {
				if want < 0 {
					golden.Files = append(golden.Files, txtar.File{Name: "refused"})
					want = len(golden.Files) - 1
				}
				golden.Files[want].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(golden), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want < 0 {
				t.Fatal("no section says what is refused")
			}
			if d := cmp.Diff(string(golden.Files[want].Data), got); d != "" {
				t.Errorf("refused otherwise (-golden +got):\n%s", d)
			}
		})
	}
}

func edit(t *testing.T, path, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old, replacement, ok := strings.Cut(text, "=>\n")
	if !ok {
		t.Fatal("an edit needs a line =>")
	}
	old, replacement = strings.TrimSuffix(old, "\n"), strings.TrimSuffix(replacement, "\n")
	if n := strings.Count(string(b), old); n != 1 {
		t.Fatalf("%q occurs %d times in %s", old, n, filepath.Base(path))
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), old, replacement, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}
