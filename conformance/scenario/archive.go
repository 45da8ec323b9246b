package scenario

import (
	"fmt"
	"strings"
)

// section is one "-- name --" part of a txtar archive.
type section struct {
	name string
	line int // of its marker, from 1
	body string
}

// archive is a txtar file that remembers where its parts stand.
type archive struct {
	comment  string
	sections []section
}

// split cuts a txtar archive. The format is that of golang.org/x/tools/txtar; the line numbers are ours.
func split(data string) archive {
	var a archive
	var body strings.Builder
	flush := func() {
		if len(a.sections) == 0 {
			a.comment = body.String()
		} else {
			a.sections[len(a.sections)-1].body = body.String()
		}
		body.Reset()
	}
	n := 0
	for line := range strings.Lines(data) {
		n++
		if name, ok := marker(line); ok {
			flush()
			a.sections = append(a.sections, section{name: name, line: n})
			continue
		}
		body.WriteString(line)
	}
	flush()
	return a
}

func marker(line string) (string, bool) {
	line = strings.TrimRight(line, "\r\n")
	name, ok := strings.CutPrefix(line, "-- ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " --")
	name = strings.TrimSpace(name)
	return name, ok && name != ""
}

// Problem is one reason why a file was refused.
type Problem struct {
	File string
	Line int
	Text string
}

func (p Problem) Error() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text) }

// Problems is what Parse and Load return when a file was refused; it is never empty.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}
