package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGenIsFresh holds what gwgen itself writes against gen as it stands; make check-generate does the same with every
// generator.
func TestGenIsFresh(t *testing.T) {
	src, err := load("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	files, err := src.emit()
	if err != nil {
		t.Fatal(err)
	}
	again, err := src.emit()
	if err != nil {
		t.Fatal(err)
	}
	var stale []string
	for name, b := range files {
		if !bytes.Equal(b, again[name]) {
			t.Errorf("%s comes out differently when it is written again", name)
		}
		have, err := os.ReadFile(filepath.Join("../../gen", filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(have, b) {
			stale = append(stale, name)
		}
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		t.Errorf("make generate has to be run; these files are not what spec makes of them:\n%s", strings.Join(stale, "\n"))
	}
}

// TestEveryFileSaysWhoWroteIt reads the first lines of all of gen.
func TestEveryFileSaysWhoWroteIt(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../../gen", func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		n++
		head := string(b[:min(len(b), 1500)])
		if !strings.Contains(head, "DO NOT EDIT.") && !strings.Contains(head, "Written by gwgen from") {
			t.Errorf("%s does not say who wrote it", p)
		}
		return nil
	})
	if err != nil || n < 100 {
		t.Errorf("%d files read: %v", n, err)
	}
}
