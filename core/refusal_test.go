package core_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// logGate holds back everything that goes into a log file while it is shut.
type logGate struct {
	mu   sync.Mutex
	cond *sync.Cond
	shut bool
}

func newLogGate() *logGate {
	g := &logGate{}
	g.cond = sync.NewCond(&g.mu)
	return g
}

func (g *logGate) before(op kvtest.FileOp) error {
	if !op.Write || !strings.HasSuffix(op.Path, ".log") {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut {
		g.cond.Wait()
	}
	return nil
}

func (g *logGate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	g.cond.Broadcast()
}

// CORE-1 for a refusal: it cites a put that is applied and not yet on the disk,
// so it waits for the disk too. A power cut in between takes back nothing that
// anybody was told.
func TestARefusalWaitsForWhatItCites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, fs := newLogGate(), kvtest.NewCrashFS()
		c := open(t, options(kvtest.Intercept(fs, gate.before)))
		wb := c.API().Workbench
		if _, err := wb.Create(ctx, &op.WorkbenchCreateRequest{ID: "wb1"}); err != nil {
			t.Fatal(err)
		}
		type outcome struct {
			res *op.WorkbenchPutFileResult
			err error
		}
		put := func() <-chan outcome {
			done := make(chan outcome, 1)
			go func() {
				res, err := wb.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "a", Text: ptr("x")})
				done <- outcome{res, err}
			}()
			return done
		}
		silent := func(done <-chan outcome) {
			t.Helper()
			synctest.Wait()
			select {
			case o := <-done:
				t.Fatalf("answered before the disk had it: %+v", o)
			default:
			}
		}
		gate.set(true)
		first := put()
		silent(first)
		second := put()
		silent(second)

		// Nobody was told anything: after a power cut now there may be no file.
		left := open(t, options(kvtest.CrashClone(fs, 2)))
		lost, err := observe(left)
		if _, there := lost["wb1/outputs/a"]; err != nil || there {
			t.Errorf("the unsynced put survived this power cut, which makes the test empty: %v, %v", lost, err)
		}
		shut(t, left)

		gate.set(false)
		if o := <-first; o.err != nil || o.res.Generation != 1 {
			t.Errorf("%+v", o)
		}
		o := <-second
		var f *fault.Error
		if f = fault.From(o.err); f == nil || f.Reason != op.ReasonWBAlreadyExists {
			t.Fatalf("%+v", o)
		}
		if g, _ := f.Detail("generation"); g != int64(1) {
			t.Errorf("the refusal cites generation %v", g)
		}
		after := open(t, options(kvtest.CrashClone(fs, 2)))
		kept, err := observe(after)
		if err != nil || kept["wb1/outputs/a"] != entry(1, textType, "x") {
			t.Errorf("after the power cut: %v, %v", kept, err)
		}
		shut(t, after)
		shut(t, c)
	})
}
