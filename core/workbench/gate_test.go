package workbench_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// WB-36: a page ends in the middle of a file when its time is up, and no line is
// lost by that, nor found twice.
func TestGrepEndsItsPageInsideOfAFile(t *testing.T) {
	for name, most := range map[string]int64{"a file that is read as a whole": 16 << 20, "a file that is read in steps": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *workbench.Options) { o.MaxArtifactBytes = most })
			var text bytes.Buffer
			want := []string{}
			for line := 1; text.Len() < 4<<20; line++ {
				if line%997 == 0 {
					fmt.Fprintf(&text, "Needle %d\n", line)
					want = append(want, fmt.Sprintf("outputs/big:%d:Needle %d", line, line))
				} else {
					fmt.Fprintf(&text, "%d of nothing in particular, and a tail that makes it longer\n", line)
				}
			}
			b.store("outputs", "big", &text)
			pieces := 0
			b.OnStep(func(step string) {
				if step == "grep.piece" {
					pieces++
					b.env.Clock.Advance(7 * time.Second)
				}
			})
			got, scanned, pages := b.grepAll("needle", func(r *op.WorkbenchGrepRequest) { r.Limit = ptr(int32(300)) }, nil)
			if !slices.Equal(got, want) || scanned != 1 {
				t.Errorf("%d lines of %d in %d files", len(got), len(want), scanned)
			}
			if pages < 5 {
				t.Errorf("%d pages of %d pieces, each of which takes 7 s", pages, pieces)
			}
			b.OnStep(nil)
		})
	}
}

// A caller who leaves ends the reading of a file at its next piece.
func TestGrepEndsWithItsCaller(t *testing.T) {
	b := newBench(t)
	b.store("outputs", "big", strings.NewReader(strings.Repeat("nothing here\n", 1<<20)))
	ctx, cancel := context.WithCancel(ctx)
	pieces := 0
	b.OnStep(func(step string) {
		if pieces++; pieces == 3 {
			cancel()
		}
	})
	_, err := b.Grep(ctx, &op.WorkbenchGrepRequest{ID: "wb1", Pattern: "x", Recursive: true})
	if fault.From(err).Reason != op.ReasonCancelled || pieces != 3 {
		t.Errorf("after %d pieces: %v", pieces, err)
	}
	b.OnStep(nil)
}

// WB-36: so many calls run, so many wait, and the next is told to come back. Who
// waits can leave.
func TestConcurrentCrawlsAreBounded(t *testing.T) {
	b := newBench(t)
	b.put("a", "hit")
	running := make(chan struct{}, 1000)
	hold := make(chan struct{})
	b.OnStep(func(step string) {
		if step == "grep.piece" {
			running <- struct{}{}
			<-hold
		}
	})
	patient, leave := context.WithCancel(ctx)
	var calls sync.WaitGroup
	call := func(ctx context.Context, want op.Reason) {
		calls.Go(func() {
			_, err := b.Grep(ctx, &op.WorkbenchGrepRequest{ID: "wb1", Pattern: "hit", Recursive: true})
			if want == "" && err != nil || want != "" && !fault.Is(err, want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	for range op.LimitCrawlMaxRunning {
		call(ctx, "")
	}
	for range op.LimitCrawlMaxRunning {
		<-running
	}
	call(patient, op.ReasonCancelled)
	for range op.LimitCrawlMaxWaiting - 1 {
		call(ctx, "")
	}
	waiting := func(n int64) {
		for b.GrepsWaiting() != n {
			runtime.Gosched()
		}
	}
	waiting(op.LimitCrawlMaxWaiting)
	_, err := b.grep("hit", nil)
	refused(t, err, op.ReasonUnavailable)
	leave()
	waiting(op.LimitCrawlMaxWaiting - 1)
	// What is wrong with a request is told without waiting.
	_, err = b.grep("", nil)
	refused(t, err, op.ReasonWBInvalidArguments)
	// Other tools do not wait for grep.
	if _, err := b.Find(ctx, &op.WorkbenchFindRequest{}); err != nil {
		t.Error(err)
	}
	close(hold)
	calls.Wait()
	if n := len(running); n != int(op.LimitCrawlMaxWaiting)-1 {
		t.Errorf("%d of those who waited have run", n)
	}

	giveBack := b.FillFinds()
	gone, leave := context.WithCancel(ctx)
	for range op.LimitCrawlMaxWaiting {
		calls.Go(func() {
			if _, err := b.Find(gone, &op.WorkbenchFindRequest{}); !fault.Is(err, op.ReasonCancelled) {
				t.Errorf("got %v", err)
			}
		})
	}
	for b.FindsWaiting() != op.LimitCrawlMaxWaiting {
		runtime.Gosched()
	}
	_, err = b.Find(ctx, &op.WorkbenchFindRequest{})
	refused(t, err, op.ReasonUnavailable)
	leave()
	calls.Wait()
	giveBack()
	if _, err := b.Find(ctx, &op.WorkbenchFindRequest{}); err != nil {
		t.Error(err)
	}
	b.OnStep(nil)
}
