// Package load is the benchmark's load generator: closed loops over keep-alive HTTP/1.1 connections, as cheap in CPU as plain Go allows, because
// it shares the cores with the server that it measures.
package load

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// Plan says what one run sends. Exactly one of Requests and Template is set.
type Plan struct {
	Addr     string        // HOST:PORT
	Conns    int           // connections, one request in flight on each
	Warmup   time.Duration // sent but not counted
	Duration time.Duration // counted
	Requests [][]byte      // whole requests, drawn in a fixed order from a place of its own for each connection
	Template []byte        // one whole request, into which every sending writes its number
	Holes    []Hole        // where the number goes in Template
	Next     int64         // the first number
	Limit    int64         // how many numbers to send at most; 0 is without limit
	Status   int           // the status that every answer must have
	Expect   string        // what every answer's body must contain
}

// Hole is a run of decimal digits in a template: digits of (n / Div) % Mod, padded to Width.
type Hole struct {
	Offset, Width int
	Div, Mod      int64
}

// Result is what one run saw. Latencies in nanoseconds.
type Result struct {
	Count    int64
	Rate     float64 // counted requests per second
	P50, P99 int64
	Max      int64
	Bytes    int64 // of bodies
	Next     int64 // the first number not used
}

// Request renders one HTTP/1.1 request with a Content-Length. Header lines come as "Name: value".
func Request(method, path string, body []byte, header ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n", method, path)
	for _, h := range header {
		b.WriteString(h + "\r\n")
	}
	if method != "GET" {
		b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// Punch finds the runs of '#' in a template, in order, and returns a hole for each: they take n/div[i] % mod[i]. It fails when the
// template does not have as many runs as there are divisors.
func Punch(template []byte, div, mod []int64) ([]Hole, error) {
	var holes []Hole
	for i := 0; i < len(template); {
		if template[i] != '#' {
			i++
			continue
		}
		j := i
		for j < len(template) && template[j] == '#' {
			j++
		}
		if len(holes) < len(div) {
			holes = append(holes, Hole{Offset: i, Width: j - i, Div: div[len(holes)], Mod: mod[len(holes)]})
		} else {
			return nil, fmt.Errorf("more runs of # than the %d divisors", len(div))
		}
		i = j
	}
	if len(holes) != len(div) {
		return nil, fmt.Errorf("%d runs of #, %d divisors", len(holes), len(div))
	}
	return holes, nil
}

// fill writes n into the holes of request.
func fill(request []byte, holes []Hole, n int64) {
	for _, h := range holes {
		v := n / h.Div % h.Mod
		for i := h.Offset + h.Width - 1; i >= h.Offset; i-- {
			request[i] = byte('0' + v%10)
			v /= 10
		}
	}
}
