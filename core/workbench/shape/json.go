package shape

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// lenient admits duplicate names while scanning; items lose them later.
var lenient = jsontext.AllowDuplicateNames(true)

func jsonDocument(body []byte, w window) (Page, error) {
	mark := len(body)
	body = bytes.TrimPrefix(body, byteOrderMark)
	mark -= len(body)
	d := jsontext.NewDecoder(bytes.NewBuffer(body), lenient)
	recordType, deepest := RecordJSONObject, MaxDepth
	if d.PeekKind() == '[' {
		deepest++ // the document's own array is not part of an item
	}
	if tooDeep(body, deepest) {
		return Page{}, tooDeepError("json")
	}
	if d.PeekKind() == '[' {
		recordType = RecordJSONArray
		if _, err := d.ReadToken(); err != nil {
			return Page{}, jsonError(err)
		}
		for d.PeekKind() != ']' {
			if err := jsonRecord(d, &w); err != nil {
				return Page{}, err
			}
		}
		if _, err := d.ReadToken(); err != nil {
			return Page{}, jsonError(err)
		}
	} else if err := jsonRecord(d, &w); err != nil {
		return Page{}, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		if err == nil {
			return Page{}, &DecodeError{"json", "The body holds more than one JSON value; name it .jsonl to read it line by line."}
		}
		return Page{}, jsonError(err)
	}
	if number, at := outsized(body); number != nil {
		return Page{}, outsizedError("json", number, fmt.Sprintf(" at byte %d", mark+at))
	}
	return w.page(recordType), nil
}

// jsonRecord reads the next value as a record.
func jsonRecord(d *jsontext.Decoder, w *window) error {
	v, err := d.ReadValue()
	if err != nil {
		return jsonError(err)
	}
	var item []byte
	if w.wants() {
		if item, err = compact(v); err != nil {
			return jsonError(err)
		}
	}
	w.pass(item)
	return nil
}

func jsonLines(body []byte, w window) (Page, error) {
	body = bytes.TrimPrefix(body, byteOrderMark)
	for rest, number := body, 1; len(rest) > 0; number++ {
		var line []byte
		line, rest = NextLine(rest)
		line = bytes.Trim(line, " \t\r")
		if len(line) == 0 {
			continue // a blank line is no record
		}
		fail := func() (Page, error) {
			return Page{}, &DecodeError{"json", fmt.Sprintf("Line %d is not one valid JSON value.", number)}
		}
		if tooDeep(line, MaxDepth) {
			return Page{}, tooDeepError("json")
		}
		var item []byte
		var err error
		if !w.wants() {
			if !jsontext.Value(line).IsValid(lenient) {
				return fail()
			}
		} else if item, err = compact(line); err != nil {
			return fail()
		}
		if outlier, _ := outsized(line); outlier != nil {
			return Page{}, outsizedError("json", outlier, fmt.Sprintf(" in line %d", number))
		}
		w.pass(item)
	}
	return w.page(RecordJSONLines), nil
}

// compact is S2 for one value: no white space, escapes only where needed,
// numbers untouched, and of duplicate names the last.
func compact(v jsontext.Value) ([]byte, error) {
	out, err := jsontext.AppendFormat(make([]byte, 0, len(v)), v)
	if err == nil {
		return out, nil
	}
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) || syntactic.Err != jsontext.ErrDuplicateName {
		return nil, err
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(v), lenient)
	out, err = lastWins(out[:0], d)
	if err == nil {
		if _, err = d.ReadToken(); err == io.EOF {
			return out, nil
		}
		if err == nil {
			err = errors.New("trailing value")
		}
	}
	return nil, err
}

// lastWins copies the next value of d, keeping one member of a name: its
// value is the last one, its place the first.
func lastWins(dst []byte, d *jsontext.Decoder) ([]byte, error) {
	switch d.PeekKind() {
	case '[':
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		dst = append(dst, '[')
		for n := 0; d.PeekKind() != ']'; n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = lastWins(dst, d); err != nil {
				return nil, err
			}
		}
		_, err := d.ReadToken()
		return append(dst, ']'), err
	case '{':
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		var m members
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			value, err := lastWins(nil, d)
			if err != nil {
				return nil, err
			}
			m.set(key, value)
		}
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		return m.appendTo(dst)
	}
	v, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	return jsontext.AppendFormat(dst, v)
}

// members is an object under construction, in the order of first appearance.
type members struct {
	names  []string
	values [][]byte
	at     map[string]int
}

func (m *members) set(name string, value []byte) {
	if i, ok := m.at[name]; ok {
		m.values[i] = value
		return
	}
	if m.at == nil {
		m.at = make(map[string]int)
	}
	m.at[name] = len(m.names)
	m.names, m.values = append(m.names, name), append(m.values, value)
}

func (m *members) appendTo(dst []byte) ([]byte, error) {
	dst = append(dst, '{')
	for i, name := range m.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = jsontext.AppendQuote(dst, name); err != nil {
			return nil, err
		}
		dst = append(append(dst, ':'), m.values[i]...)
	}
	return append(dst, '}'), nil
}

// tooDeep counts brackets outside strings. It says nothing about validity.
func tooDeep(v []byte, deepest int) bool {
	depth, inString := 0, false
	for i := 0; i < len(v); i++ {
		c := v[i]
		if inString {
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
			}
			continue
		}
		switch c {
		case '"':
			inString = true
		case '[', '{':
			if depth++; depth > deepest {
				return true
			}
		case ']', '}':
			depth--
		}
	}
	return false
}

func tooDeepError(format string) error {
	return &DecodeError{format, fmt.Sprintf("The body nests deeper than %d levels.", MaxDepth)}
}

func jsonError(err error) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntactic):
		return &DecodeError{"json", fmt.Sprintf("The body is not one valid JSON document: it fails at byte %d.", syntactic.ByteOffset)}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &DecodeError{"json", "The body is not one valid JSON document: it ends too early."}
	}
	return &DecodeError{"json", "The body is not one valid JSON document."}
}
