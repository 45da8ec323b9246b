package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf8"
)

// file is one file of the source tree, with what the workbench must hold of
// it at this moment of the demonstration.
type file struct {
	path       string // relative, slash-separated
	body       []byte // the bytes that the server must answer with
	generation int64  // the generation that the last acknowledged write gave
}

func (f *file) digest() string { return digestURI(f.body) }

func (f *file) isText() bool { return utf8.Valid(f.body) }

func digestURI(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// oddNames are file names that real trees hold and naive gateways break on;
// they join whatever the tree itself brings.
var oddNames = map[string]string{
	"odd/with space.txt":             "a name with a space\n",
	"odd/percent%2e%2e%2fescape.txt": "a name that looks like an encoded traversal\n",
	"odd/question?mark#hash.txt":     "a name with the marks of a URL\n",
	"odd/quote\"and'apostrophe.txt":  "a name with quotes\n",
	"odd/plus+and&ampersand=.txt":    "a name with the marks of a form\n",
	"odd/日本語/ファイル.txt":               "第一行\n第二行\n",
	"odd/e\u0301 decomposed.txt":     "a name in decomposed form\n",
	"odd/é composed.txt":             "a name in composed form\n",
	"odd/emoji-🪚🐎.txt":               "a saw and a horse\n",
	"odd/...three.dots":              "dots that are not a parent\n",
	"odd/.hidden":                    "",
	"odd/tab\there.txt":              "a name with a tab\n",
	"odd/new\nline.txt":              "a name with a line feed\n",
	"odd/src/x.txt":                  "sorts before src-gen\n",
	"odd/src-gen/x.txt":              "sorts after src\n",
	"odd/crlf.txt":                   "one\r\ntwo\rstill two\r\n",
	"odd/nul.bin":                    "a\x00b\x00",
}

// loadTree reads every regular file below root, at most limit files when limit
// is positive, and adds the odd names. The result is sorted by path.
func loadTree(root string, limit int) ([]*file, error) {
	var files []*file
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, &file{path: filepath.ToSlash(rel), body: body})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the source tree: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file below %s", root)
	}
	if limit > 0 && len(files) > limit {
		// Every n-th file, so that a short run still sees all corners of the tree.
		step := len(files)/limit + 1
		var some []*file
		for i := 0; i < len(files); i += step {
			some = append(some, files[i])
		}
		files = some
	}
	for name, text := range oddNames {
		files = append(files, &file{path: name, body: []byte(text)})
	}
	sort.Slice(files, func(i, j int) bool { return files[i].path < files[j].path })
	return files, nil
}

// uniqueLine gives the first line of at least four bytes that occurs exactly
// once in the text, for an edit that must match once.
func uniqueLine(text string) (string, bool) {
	for n, line := range strings.Split(text, "\n") {
		if n == 200 {
			break
		}
		if len(line) >= 4 && strings.Count(text, line) == 1 {
			return line, true
		}
	}
	return "", false
}

// textLines splits as the structured reading of text does: at line feeds, one
// carriage return before a line feed dropped, no empty last line.
func textLines(text string) []string {
	if text == "" {
		return nil
	}
	ended := strings.HasSuffix(text, "\n")
	lines := strings.Split(text, "\n")
	if ended {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		if i < len(lines)-1 || ended {
			lines[i] = strings.TrimSuffix(line, "\r")
		}
	}
	return lines
}
