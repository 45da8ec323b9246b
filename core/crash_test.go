package core_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// world is what a store should hold: for each file its generation, type and
// body, by workbench and full path. A workbench without files has one empty
// entry.
type world map[string]string

func entry(generation int, contentType, body string) string {
	return fmt.Sprintf("%d %s %s", generation, contentType, body)
}

const textType = "text/plain; charset=utf-8"

// act is one call of the script, and what it makes of the world. A call that is
// to be refused leaves the world alone.
type act struct {
	name  string
	call  func(c *core.Core) error
	after func(w world)
	want  op.Reason // "" = success
}

func put(path, text string, replace bool, generation int) act {
	return act{"put " + path, func(c *core.Core) error {
		res, err := c.API().Workbench.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: path, Text: &text, Replace: &replace})
		if err == nil && res.Generation != int64(generation) {
			return fmt.Errorf("generation %d, want %d", res.Generation, generation)
		}
		return err
	}, func(w world) { w["wb1/outputs/"+path] = entry(generation, textType, text) }, ""}
}

func appendTo(path, delta, whole string, generation int) act {
	return act{"append " + path, func(c *core.Core) error {
		res, err := c.API().Workbench.Append(ctx, &op.WorkbenchAppendRequest{ID: "wb1", Section: "outputs", Path: path, Text: &delta})
		if err == nil && (res.Generation != int64(generation) || res.SizeBytes != int64(len(whole))) {
			return fmt.Errorf("%+v", res)
		}
		return err
	}, func(w world) { w["wb1/outputs/"+path] = entry(generation, textType, whole) }, ""}
}

func edit(path, from, to, whole string, generation int) act {
	return act{"edit " + path, func(c *core.Core) error {
		res, err := c.API().Workbench.Edit(ctx, &op.WorkbenchEditRequest{ID: "wb1", Section: "outputs", Path: path, OldString: from, NewString: to})
		if err == nil && res.Generation != int64(generation) {
			return fmt.Errorf("%+v", res)
		}
		return err
	}, func(w world) { w["wb1/outputs/"+path] = entry(generation, textType, whole) }, ""}
}

func create(id string) act {
	return act{"create " + id, func(c *core.Core) error {
		_, err := c.API().Workbench.Create(ctx, &op.WorkbenchCreateRequest{ID: id})
		return err
	}, func(w world) { w[id] = "" }, ""}
}

func store(path, body string, generation int) act {
	return act{"store " + path, func(c *core.Core) error {
		cond := op.FileCondition{}
		if generation > 1 {
			cond.IfGeneration = ptr(int64(generation - 1))
		}
		card, err := c.API().Files.StoreFile(ctx, op.FileRef{ID: "wb1", Section: "outputs", Path: path}, cond, "a/b", strings.NewReader(body), -1)
		if err == nil && card.Generation != int64(generation) {
			return fmt.Errorf("%+v", card)
		}
		return err
	}, func(w world) { w["wb1/outputs/"+path] = entry(generation, "a/b", body) }, ""}
}

func refusal(a act, reason op.Reason) act {
	a.name, a.after, a.want = "refused "+a.name, nil, reason
	return a
}

func look(name string, call func(c *core.Core) error) act { return act{name, call, nil, ""} }

// script runs the seven tools and the file routes, with bodies of every kind:
// in the record, in rows, in files, appended to and replaced.
func script() []act {
	row := strings.Repeat("row ", 5_000)                   // 20 KB
	file := "<begin>" + strings.Repeat("segment ", 40_000) // 320 KB
	part := file[:300_000]
	return []act{
		create("wb1"),
		put("a", "one", false, 1),
		refusal(put("a", "other", false, 1), op.ReasonWBAlreadyExists),
		put("a", "two", true, 2),
		put("dir/row", row, false, 1),
		appendTo("log", "first\n", "first\n", 1),
		appendTo("log", "second\n", "first\nsecond\n", 2),
		edit("log", "first", "1st", "1st\nsecond\n", 3),
		refusal(edit("log", "third", "3rd", "", 4), op.ReasonWBNoMatch),
		look("list", func(c *core.Core) error {
			res, err := c.API().Workbench.List(ctx, &op.WorkbenchListRequest{ID: "wb1", Section: ptr("outputs")})
			if err == nil && len(res.Entries) != 3 {
				return fmt.Errorf("%d entries", len(res.Entries))
			}
			return err
		}),
		store("file", file, 1),
		appendTo("dir/row", "end", row+"end", 2),
		store("file", "small now", 2),
		act{"tidy", func(c *core.Core) error { return c.Tidy(ctx) }, nil, ""},
		appendTo("log", row, "1st\nsecond\n"+row, 4),
		put("dir/row", part, true, 3),
		look("stat", func(c *core.Core) error {
			_, err := c.API().Workbench.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", Section: ptr("outputs"), Path: ptr("dir/row")})
			return err
		}),
		create("wb2"),
		edit("dir/row", "<begin>", "<start>", "<start>"+part[7:], 4),
		look("read", func(c *core.Core) error {
			_, err := c.API().Workbench.Read(ctx, &op.WorkbenchReadRequest{ID: "wb1", Section: "outputs", Path: "log"})
			return err
		}),
		act{"tidy", func(c *core.Core) error { return c.Tidy(ctx) }, nil, ""},
		put("last", "!", false, 1),
	}
}

// worldsOf returns the world before the first act and after each.
func worldsOf(acts []act) []world {
	worlds := []world{{}}
	for _, a := range acts {
		next := maps.Clone(worlds[len(worlds)-1])
		if a.after != nil && a.want == "" {
			a.after(next)
		}
		worlds = append(worlds, next)
	}
	return worlds
}

// observe reads everything that two workbenches hold, through the tools.
func observe(c *core.Core) (world, error) {
	w := world{}
	for _, id := range []string{"wb1", "wb2"} {
		if _, err := c.API().Workbench.Stat(ctx, &op.WorkbenchStatRequest{ID: id}); fault.Is(err, op.ReasonWBNotFound) {
			continue
		} else if err != nil {
			return nil, err
		}
		w[id] = ""
		if err := walk(c, w, id, nil); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func walk(c *core.Core, w world, id string, dir *string) error {
	var cursor *string
	for {
		res, err := c.API().Workbench.List(ctx, &op.WorkbenchListRequest{ID: id, Path: dir, Cursor: cursor, Limit: ptr(int32(2))})
		if err != nil {
			return err
		}
		for _, e := range res.Entries {
			full := strings.TrimPrefix(e.Path, "/agents/default/wb/"+id+"/")
			if e.Kind == "directory" {
				if err := walk(c, w, id, &full); err != nil {
					return err
				}
				continue
			}
			f, err := c.API().Files.OpenFile(ctx, op.FileRef{ID: id, Section: *e.Section, Path: *e.RelativePath})
			if err != nil {
				return err
			}
			var body bytes.Buffer
			err = f.WriteRange(ctx, &body, 0, f.Card().SizeBytes)
			w[id+"/"+full] = entry(int(f.Card().Generation), f.Card().ContentType, body.String())
			if closeErr := f.Close(); err == nil {
				err = closeErr
			}
			if err != nil {
				return err
			}
		}
		if cursor = res.NextCursor; cursor == nil {
			return nil
		}
	}
}

// shorten makes a world fit on a screen.
func shorten(w world) string {
	var b strings.Builder
	for k, v := range w {
		fmt.Fprintf(&b, "%s: %.40s (%d)\n", k, v, len(v))
	}
	return b.String()
}

// CORE-1: the power is cut before every single operation on the file system.
// What was acknowledged until then is there, the call that was under way has
// happened or not, and nothing else is different.
func TestPowerCutAtEveryWriteOfAScript(t *testing.T) {
	acts, worlds := script(), worldsOf(script())
	fs := kvtest.NewCrashFS()
	var started, acked atomic.Int64 // acts
	var cuts, seed int
	var mu sync.Mutex
	perCut := kvtest.Draws(4, 50)
	verify := func(before string) {
		mu.Lock()
		defer mu.Unlock()
		// What survives of the unsynced writes is drawn anew each time.
		for range perCut {
			low := acked.Load()
			seed++
			left := kvtest.CrashClone(fs, uint64(seed))
			high := started.Load()
			if t.Failed() {
				return
			}
			cuts++
			if err := recovers(left, worlds[low:high+1]); err != nil {
				t.Errorf("power cut %d before a write of %s, between act %d and %d (%s): %v", seed, before, low, high, acts[max(0, high-1)].name, err)
			}
		}
	}
	c := open(t, options(kvtest.Intercept(fs, func(op kvtest.FileOp) error {
		if op.Write {
			verify(op.Path)
		}
		return nil
	})))
	for i, a := range acts {
		started.Store(int64(i + 1))
		err := a.call(c)
		switch {
		case a.want != "" && !fault.Is(err, a.want):
			t.Errorf("act %d, %s: %v, want %s", i, a.name, err, a.want)
		case a.want == "" && err != nil:
			t.Errorf("act %d, %s: %v", i, a.name, err)
		}
		if t.Failed() {
			return
		}
		acked.Store(int64(i + 1))
	}
	verify("nothing")
	shut(t, c)
	if cuts < 100*perCut {
		t.Errorf("only %d power cuts", cuts)
	}
	t.Logf("%d power cuts", cuts)
}

// recovers opens what a power cut left, and demands one of the worlds, a clean
// check, and that life goes on.
func recovers(left kv.FS, allowed []world) (err error) {
	c, err := core.Open(ctx, options(left))
	if err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	got, err := observe(c)
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	if !slices.ContainsFunc(allowed, func(w world) bool { return maps.Equal(w, got) }) {
		return fmt.Errorf("it holds\n%sand should hold\n%s", shorten(got), shorten(allowed[0]))
	}
	if report, err := c.Check(ctx); err != nil || report.Err() != nil {
		return errors.Join(err, report.Err())
	}
	if _, err := c.API().Workbench.Append(ctx, &op.WorkbenchAppendRequest{ID: "wb3", Section: "logs", Path: "after", Text: ptr("x")}); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if err := c.Tidy(ctx); err != nil {
		return fmt.Errorf("tidying: %w", err)
	}
	report, err := c.Check(ctx)
	return errors.Join(err, report.Err())
}

var errInjected = errors.New("injected failure")

// CORE-1 when a body cannot be written: for n = 1, 2, 3… the n-th write below
// the directory of bodies fails. The call says so, publishes nothing, and the
// store goes on; what was acknowledged is there.
func TestFaultAtEveryWriteOfABody(t *testing.T) {
	acts, worlds := script(), worldsOf(script())
	for n := 1; ; n++ {
		fs := kvtest.NewCrashFS()
		var writes, failed atomic.Int64
		o := options(kvtest.Intercept(fs, func(op kvtest.FileOp) error {
			if op.Write && strings.HasPrefix(op.Path, "data/bodies") && writes.Add(1) == int64(n) {
				failed.Add(1)
				return errInjected
			}
			return nil
		}))
		c, err := core.Open(ctx, o)
		if err != nil {
			if !errors.Is(err, errInjected) {
				t.Fatalf("write %d: opening: %v", n, err)
			}
			if err := recovers(kvtest.CrashClone(fs, uint64(n)), worlds[:1]); err != nil {
				t.Fatalf("write %d: after an opening that failed: %v", n, err)
			}
			continue
		}
		done := 0
		for err == nil && done < len(acts) {
			if err = acts[done].call(c); acts[done].want != "" && fault.Is(err, acts[done].want) {
				err = nil
			}
			if err == nil {
				done++
			}
		}
		if err != nil && !errors.Is(err, errInjected) {
			t.Fatalf("write %d: act %d (%s): %v", n, done, acts[done].name, err)
		}
		got, readErr := observe(c)
		if readErr != nil || !maps.Equal(got, worlds[done]) {
			t.Fatalf("write %d: after act %d failed: %v\n%s", n, done, readErr, shorten(got))
		}
		shut(t, c)
		if err := recovers(kvtest.CrashClone(fs, uint64(n)), worlds[done:done+1]); err != nil {
			t.Fatalf("write %d: after act %d failed and the power was cut: %v", n, done, err)
		}
		if failed.Load() == 0 {
			if n < 10 {
				t.Errorf("only %d writes below the bodies", n-1)
			}
			return
		}
	}
}
