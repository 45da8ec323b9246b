package main

import (
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"
)

// How often a meter speaks: on a terminal it draws one line over and over, elsewhere it adds a line now and then.
const (
	drawEvery = 100 * time.Millisecond
	lineEvery = 5 * time.Second
)

// meter shows how far something is.
type meter struct {
	out      io.Writer // nil is silent
	terminal bool
	began    time.Time
	shown    time.Time
	width    int
}

func newMeter(w io.Writer, quiet bool) *meter {
	m := &meter{began: time.Now(), shown: time.Now()}
	if quiet {
		return m
	}
	m.out = w
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			m.terminal = info.Mode()&os.ModeCharDevice != 0
		}
	}
	return m
}

// show says that so many bytes of a total are done, which unit of the work that is, and on what it works now.
func (m *meter) show(done, total int64, unit, what string) {
	now := time.Now()
	every := lineEvery
	if m.terminal {
		every = drawEvery
	}
	if m.out == nil || now.Sub(m.shown) < every {
		return
	}
	m.shown = now
	rate := float64(done) / max(now.Sub(m.began).Seconds(), 0.001)
	line := fmt.Sprintf("%3d %%  %s  %s of %s  %s/s", 100*done/max(total, 1), unit, mebibytes(done), mebibytes(total), mebibytes(int64(rate)))
	if !m.terminal {
		fmt.Fprintln(m.out, line)
		return
	}
	const bar = 20
	filled := int(bar * done / max(total, 1))
	line = fmt.Sprintf("[%-*s] %s  %s", bar, "####################"[:min(bar, max(0, filled))], line, shorten(what, 32))
	fmt.Fprintf(m.out, "\r%-*s", m.width, line)
	m.width = utf8.RuneCountInString(line)
}

// shorten keeps the end of a path, which tells more than its beginning.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return "…" + string(r[len(r)-n+1:])
}

// end clears the line.
func (m *meter) end() {
	if m.terminal && m.width > 0 {
		fmt.Fprintf(m.out, "\r%*s\r", m.width, "")
	}
}
