package localfiles

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// Workbench is where the files are.
type Workbench struct {
	List  func(ctx context.Context, req *op.WorkbenchListRequest) (*op.WorkbenchListResult, error)
	Files op.Files
}

// Options of both directions. The zero value of a field means its default.
type Options struct {
	// Parallel is how many files move at a time; 0 means 8.
	Parallel int
	// Progress is told how far the work is, one call at a time; nil tells nobody.
	Progress func(Progress)
	// Wait is called before a call is tried again; nil waits on the machine's clock.
	Wait func(ctx context.Context, d time.Duration) error
	// Delete has Materialize remove regular files that the workbench does not have.
	Delete bool
}

// Progress is how far the work is. Totals grow until the files are all known.
type Progress struct {
	Files, TotalFiles int
	Bytes, TotalBytes int64
	Path              string
}

// Report is what was done.
type Report struct {
	// Files and Bytes count what is equal on both sides now.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Moved and MovedBytes count what had to be moved for that.
	Moved      int   `json:"moved"`
	MovedBytes int64 `json:"moved_bytes"`
	// Removed and Skipped list paths.
	Removed []string `json:"removed"`
	Skipped []string `json:"skipped"`
	// Problems say what could not be done.
	Problems []Problem `json:"problems"`
}

// Problem is a file that was not moved, and why.
type Problem struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// work is one run, of either direction.
type work struct {
	o Options

	mu     sync.Mutex
	report Report
	at     Progress
}

func newWork(o Options) *work {
	o.Parallel = cmp.Or(o.Parallel, 8)
	if o.Wait == nil {
		o.Wait = func(ctx context.Context, d time.Duration) error {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-t.C:
				return nil
			}
		}
	}
	return &work{o: o, report: Report{Removed: []string{}, Skipped: []string{}, Problems: []Problem{}}}
}

func (w *work) expect(files int, bytes int64) {
	w.mu.Lock()
	w.at.TotalFiles += files
	w.at.TotalBytes += bytes
	w.mu.Unlock()
}

// moved counts bytes on their way.
func (w *work) moved(path string, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.MovedBytes += n
	w.at.Path = path
	w.at.Bytes += n
	w.tell()
}

// done counts a file that is equal on both sides now. size bytes of it were not counted by moved.
func (w *work) done(path string, size, uncounted int64, moved bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Files++
	w.report.Bytes += size
	if moved {
		w.report.Moved++
	}
	w.at.Files++
	w.at.Bytes += uncounted
	w.at.Path = path
	w.tell()
}

func (w *work) tell() {
	if w.o.Progress != nil {
		w.o.Progress(w.at)
	}
}

func (w *work) problem(path, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Problems = append(w.report.Problems, Problem{path, text})
	w.at.Files++
	w.tell()
}

func (w *work) skip(path string) {
	w.mu.Lock()
	w.report.Skipped = append(w.report.Skipped, path)
	w.mu.Unlock()
}

// finish returns the report in the order of paths.
func (w *work) finish() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.report.Removed)
	slices.Sort(w.report.Skipped)
	slices.SortFunc(w.report.Problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Text, b.Text)) })
	return w.report
}

// each runs fn on every item, a few at a time, until the context ends.
func each[T any](ctx context.Context, parallel int, items []T, fn func(T)) {
	next := make(chan T)
	var running sync.WaitGroup
	for range min(parallel, len(items)) {
		running.Go(func() {
			for item := range next {
				fn(item)
			}
		})
	}
	for _, item := range items {
		if ctx.Err() != nil {
			break
		}
		next <- item
	}
	close(next)
	running.Wait()
}

// tries is how often a call is made that may be tried again.
const tries = 6

// again calls fn until it succeeds, fails for good or has been tried often enough.
func (w *work) again(ctx context.Context, fn func() error) error {
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		err := fn()
		if err == nil || ctx.Err() != nil || try == tries || !retryable(err) {
			return err
		}
		if err := w.o.Wait(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

// retryable reports whether an error is one of a call that may be made again.
func retryable(err error) bool {
	var coded *fault.Error
	var said *call.Remote
	return (errors.As(err, &coded) || errors.As(err, &said)) && public(err).Retryable
}

func public(err error) call.Public { return call.PublicIn(op.AreaWorkbench, err) }

// said is what is said of an error of a call.
func said(err error) string { return public(err).Message }
