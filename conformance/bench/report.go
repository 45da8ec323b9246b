package main

import (
	"fmt"
	"strings"
	"time"
)

// figure is what one side reached over all rounds: medians.
type figure struct {
	name     string
	rate     float64
	p50, p99 time.Duration
	cpu      time.Duration // of the server, per request
}

func summary(name string, played [][]sample, i int) figure {
	of := func(f func(sample) float64) float64 {
		return median(played, func(round []sample) float64 { return f(round[i]) })
	}
	return figure{
		name: name,
		rate: of(func(s sample) float64 { return s.Rate }),
		p50:  time.Duration(of(func(s sample) float64 { return float64(s.P50) })),
		p99:  time.Duration(of(func(s sample) float64 { return float64(s.P99) })),
		cpu:  time.Duration(of(func(s sample) float64 { return s.cpu * 1e9 })),
	}
}

func (f figure) String() string {
	s := fmt.Sprintf("%-22s %9.0f/s  p50 %8s  p99 %8s", f.name, f.rate, short(f.p50), short(f.p99))
	if f.cpu > 0 {
		s += fmt.Sprintf("  cpu %7s", short(f.cpu))
	}
	return s
}

func short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1fµs", float64(d)/1e3)
	}
	return fmt.Sprintf("%.1fms", float64(d)/1e6)
}

// line is one line of the table.
type line struct {
	row        row
	ours, peer figure
	ratio      float64
	cpuRatio   float64
	noise      float64
	informs    bool   // has no target
	plain      string // what was measured, when it was no duel
}

const miss = "MISS"

func (l line) verdict() string {
	switch {
	case l.informs || l.row.target == 0:
		return ""
	case l.row.less && l.ratio <= l.row.target, !l.row.less && l.ratio >= l.row.target:
		return "PASS"
	}
	return miss
}

const header = "name                     ratio   target      verdict"

func (l line) String() string {
	var b strings.Builder
	if l.ratio == 0 {
		fmt.Fprintf(&b, "%-22s  %s", l.row.name, l.ours)
		return b.String()
	}
	sign, target := "≥", ""
	if l.row.less {
		sign = "≤"
	}
	if v := l.verdict(); v != "" {
		target = fmt.Sprintf("%s %-8.4g %s", sign, l.row.target, v)
		if l.row.stretch > 0 && l.ratio >= l.row.stretch {
			target += fmt.Sprintf(", and the stretch of %.2f", l.row.stretch)
		}
	} else {
		target = "(informs)"
	}
	fmt.Fprintf(&b, "%-22s %7.2f   %s\n", l.row.name, l.ratio, target)
	if l.plain != "" {
		fmt.Fprintf(&b, "  %s: %s\n", l.row.what, l.plain)
		return b.String()
	}
	fmt.Fprintf(&b, "  %s\n    %s\n    %s\n", l.row.what, l.ours, l.peer)
	fmt.Fprintf(&b, "    ratio of requests per CPU second %.2f; other processes used up to %.2f cores\n", l.cpuRatio, l.noise)
	return b.String()
}

const legend = `Rates, latencies and CPU per request are medians over the rounds; the ratio is the median of the rounds' own ratios. The load generator
shares the cores with the server, so a ratio is closer to 1 than it would be on two machines; the ratio per CPU second shows the server alone.`
