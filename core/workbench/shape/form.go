package shape

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Form is how a body is read when it is read by records.
type Form uint8

// The forms, tried in this order.
const (
	JSONLines Form = iota
	JSON
	YAML
	Text
)

// Record types as they appear on the wire.
const (
	RecordJSONLines   = "json_lines"
	RecordJSONArray   = "json_array"
	RecordJSONObject  = "json_object"
	RecordYAMLMapping = "yaml_mapping"
	RecordTextLines   = "text_lines"
)

// MaxDepth bounds the nesting of a value in an item: answers wrap it three
// levels deeper and stay below the depth that every decoder accepts.
const MaxDepth = 120

// FormOf chooses by the content type and the name of the artifact. Both are
// compared in lower case; either may decide.
func FormOf(contentType, path string) Form {
	contentType, path = strings.ToLower(contentType), strings.ToLower(path)
	switch {
	case saysJSONLines(contentType, path):
		return JSONLines
	case strings.Contains(contentType, "json") || strings.HasSuffix(path, ".json"):
		return JSON
	case saysYAML(contentType, path):
		return YAML
	}
	return Text
}

func saysJSONLines(contentType, path string) bool {
	if strings.HasSuffix(path, ".jsonl") || strings.HasSuffix(path, ".ndjson") {
		return true
	}
	for _, word := range [...]string{"jsonl", "ndjson", "json-lines", "json_lines"} {
		if strings.Contains(contentType, word) {
			return true
		}
	}
	return false
}

func saysYAML(contentType, path string) bool {
	return strings.Contains(contentType, "yaml") || strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")
}

// Page is a run of records.
type Page struct {
	RecordType string
	Count      int      // records in the whole body
	Items      [][]byte // each one JSON value, from the first record asked for; never nil
}

// ErrInvalidUTF8 says that a body read as text is not UTF-8.
var ErrInvalidUTF8 = errors.New("the body is not valid UTF-8")

// DecodeError says that a body does not parse as what its type or name
// promises. Text is public; it names the place and repeats no content but the
// first digits of a number. What to do instead is for the caller to add.
type DecodeError struct {
	Format string // "json" or "yaml"
	Text   string
}

func (e *DecodeError) Error() string { return e.Text }

// Records reads the body of an artifact with that content type and path, and
// returns at most limit records from the first one on. A first beyond Count
// gives an empty page.
//
// Errors: ErrInvalidUTF8, *DecodeError.
func Records(contentType, path string, body []byte, first, limit int) (Page, error) {
	w := window{first: first, limit: limit, items: [][]byte{}}
	switch FormOf(contentType, path) {
	case JSONLines:
		return jsonLines(body, w)
	case JSON:
		page, err := jsonDocument(body, w)
		if err == nil && saysYAML(strings.ToLower(contentType), strings.ToLower(path)) {
			page.RecordType = RecordYAMLMapping
		}
		return page, err
	case YAML:
		return yamlDocument(body, w)
	}
	return textLines(body, w)
}

// window collects the records of a page as they go by.
type window struct {
	first, limit int
	seen         int
	items        [][]byte
}

// wants reports whether the next record belongs to the page.
func (w *window) wants() bool {
	return w.seen >= w.first && len(w.items) < w.limit
}

// pass counts a record, which is kept when wants said so.
func (w *window) pass(item []byte) {
	if w.wants() {
		w.items = append(w.items, item)
	}
	w.seen++
}

func (w *window) page(recordType string) Page {
	return Page{RecordType: recordType, Count: w.seen, Items: w.items}
}

// NextLine cuts the first line off a text: lines end at LF, one CR directly
// before it is dropped, and a last line without LF is kept as it is.
func NextLine(text []byte) (line, rest []byte) {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		return text, nil
	}
	line, rest = text[:i], text[i+1:]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, rest
}

// CountLines is how many lines NextLine finds.
func CountLines(text []byte) int {
	n := bytes.Count(text, []byte{'\n'})
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

func textLines(body []byte, w window) (Page, error) {
	if !utf8.Valid(body) {
		return Page{}, ErrInvalidUTF8
	}
	total := CountLines(body)
	for rest := body; len(rest) > 0 && len(w.items) < w.limit; {
		var line []byte
		line, rest = NextLine(rest)
		var item []byte
		if w.wants() {
			item, _ = jsontext.AppendQuote(make([]byte, 0, len(line)+2), line)
		}
		w.pass(item)
	}
	w.seen = total
	return w.page(RecordTextLines), nil
}
