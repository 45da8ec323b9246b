package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/load"
)

// absent are texts that are in no line of prose.
var absent = []string{"absent needle", "not there", "zebra crossing", "quizzical"}

// grepLarge compares grep for one and for four texts in one large file of lines with GNU grep on the same bytes, warm, in turn.
func grepLarge(ctx context.Context, b *bench, r row) ([]line, error) {
	s, err := b.product(ctx)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(b.stores, "grep.txt")
	defer os.Remove(name)
	patterns := filepath.Join(b.stores, "grep.patterns")
	defer os.Remove(patterns)
	if err := errors.Join(writeProse(name, b.bodyMiB<<20), os.WriteFile(patterns, []byte(strings.Join(absent, "\n")+"\n"), 0o600)); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := uploadFrom(ctx, s.addr, "grep.txt", b.bodyMiB<<20, f); err != nil {
		return nil, err
	}
	conn, err := load.Dial(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := caller{conn}
	ours := func(texts []string) func(int) (time.Duration, error) {
		return func(int) (all time.Duration, err error) {
			arguments := object{"id": "bench", "section": "outputs", "path": "grep.txt", "pattern": "", "patterns": texts, "recursive": true}
			for {
				answer, took, err := c.call("grep", arguments)
				if err != nil {
					return 0, err
				}
				all += took
				if lines, _ := answer["matches"].([]any); len(lines) != 0 {
					return 0, fmt.Errorf("grep finds %v", lines)
				}
				if answer["next_cursor"] == nil {
					return all, nil
				}
				arguments["cursor"] = answer["next_cursor"]
			}
		}
	}
	theirs := func(args ...string) func(int) (time.Duration, error) {
		return func(int) (time.Duration, error) {
			cmd := exec.CommandContext(ctx, "grep", append(append([]string{"-F", "-i"}, args...), name)...)
			cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
			start := time.Now()
			out, err := cmd.CombinedOutput()
			took := time.Since(start)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 { // 1: no line was found
				return 0, fmt.Errorf("grep: %w %.200s", err, out)
			}
			return took, nil
		}
	}
	var lines []line
	for _, race := range []struct {
		name         string
		ours, theirs func(int) (time.Duration, error)
	}{
		{"1 text", ours(absent[:1]), theirs(absent[0])},
		{"4 texts", ours(absent), theirs("-f", patterns)},
	} {
		mine, peer, err := alternate(max(3, b.rounds), race.ours, race.theirs)
		if err != nil {
			return nil, err
		}
		l := compared(r.name, r.what+" ("+race.name+")", r.target, peer, mine, fmt.Sprintf("%d MiB, GNU grep, ours", b.bodyMiB))
		l.row.less = false
		lines = append(lines, l)
	}
	return lines, nil
}

// writeProse writes a file of lines of words, the same each time.
func writeProse(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	_, err = io.CopyN(w, &prose{rng: rand.New(rand.NewPCG(9, 9))}, size)
	return errors.Join(err, w.Flush(), f.Close())
}

var words = strings.Fields(`the quick brown fox jumps over a lazy dog INFO WARN request user session took ms error failed while reading
	connection from host port retry GET POST status func return package import string int err nil value key store index page`)

// prose is an endless text.
type prose struct {
	rng  *rand.Rand
	line []byte
}

func (p *prose) Read(out []byte) (n int, err error) {
	for n < len(out) {
		if len(p.line) == 0 {
			for range 4 + p.rng.IntN(12) {
				p.line = append(append(p.line, words[p.rng.IntN(len(words))]...), ' ')
			}
			p.line = fmt.Appendf(p.line, "%d\n", p.rng.IntN(1_000_000))
		}
		k := copy(out[n:], p.line)
		n += k
		p.line = append(p.line[:0], p.line[k:]...)
	}
	return n, nil
}
