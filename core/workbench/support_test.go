package workbench_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/actor"
	"github.com/sawhorse-dev/sawhorse/core/blob"
	"github.com/sawhorse-dev/sawhorse/core/clock"
	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/core/kv"
	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/timer"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/core/workbench/jail"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// bench is a Workbench on a store in memory. The store is checked when the test
// ends.
type bench struct {
	*workbench.Workbench
	env    *kvtest.Env
	bodies *blob.Store
	timers *timer.Timers
	t      testing.TB
}

// loopback is who a call in these tests acts for.
var loopback = &actor.Principal{Tenant: [16]byte{1}, User: "1"}

func newBench(t testing.TB, changes ...func(*workbench.Options)) *bench {
	t.Helper()
	b := &bench{env: kvtest.New(t), t: t}
	b.open(changes...)
	t.Cleanup(func() { b.closeBodies() })
	return b
}

// newBenchAt is newBench on a clock that stands at an instant.
func newBenchAt(t testing.TB, at time.Time, changes ...func(*workbench.Options)) *bench {
	t.Helper()
	b := &bench{env: kvtest.New(t, func(o *kv.Options) { o.Clock = clock.NewFake(at) }), t: t}
	b.open(changes...)
	t.Cleanup(func() { b.closeBodies() })
	return b
}

// holds counts the holds of a kind.
func (b *bench) holds(kind byte) int {
	b.t.Helper()
	n, err := b.HoldsOf(ctx, kind)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *bench) open(changes ...func(*workbench.Options)) {
	b.t.Helper()
	var err error
	if b.bodies, err = blob.Open(b.env.Store, blob.Options{NoBackground: true}); err != nil {
		b.t.Fatal(err)
	}
	workbench.Govern(b.bodies)
	b.timers = timer.Open(b.env.Store, timer.Options{})
	o := workbench.Options{Store: b.env.Store, Bodies: b.bodies, Timers: b.timers, Root: jail.DefaultRoot, CursorKey: []byte("sixteen bytes or more"), Principal: loopback}
	for _, change := range changes {
		change(&o)
	}
	if b.Workbench, err = workbench.New(o); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) closeBodies() {
	if err := b.bodies.Close(); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) reopen(changes ...func(*workbench.Options)) {
	b.t.Helper()
	b.closeBodies()
	b.env.Reopen()
	b.open(changes...)
}

var ctx = context.Background()

func ptr[T any](v T) *T { return &v }

// put creates outputs/path in wb1, or ends the test.
func (b *bench) put(path, text string) *op.WorkbenchPutFileResult {
	b.t.Helper()
	res, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: path, Text: &text})
	if err != nil {
		b.t.Fatalf("putting %s: %v", path, err)
	}
	return res
}

func (b *bench) replace(path, text string) *op.WorkbenchPutFileResult {
	b.t.Helper()
	res, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: path, Text: &text, Replace: ptr(true)})
	if err != nil {
		b.t.Fatalf("replacing %s: %v", path, err)
	}
	return res
}

func (b *bench) append(path, text string) *op.WorkbenchAppendResult {
	b.t.Helper()
	res, err := b.Append(ctx, &op.WorkbenchAppendRequest{ID: "wb1", Section: "outputs", Path: path, Text: &text})
	if err != nil {
		b.t.Fatalf("appending to %s: %v", path, err)
	}
	return res
}

func (b *bench) edit(path, from, to string, all bool) (*op.WorkbenchEditResult, error) {
	return b.Edit(ctx, &op.WorkbenchEditRequest{ID: "wb1", Section: "outputs", Path: path, OldString: from, NewString: to, ReplaceAll: &all})
}

func (b *bench) stat(path string) (*op.WorkbenchStatResult, error) {
	return b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", Section: ptr("outputs"), Path: &path})
}

// card is the card of outputs/path in wb1, or ends the test.
func (b *bench) card(path string) op.WorkbenchCard {
	b.t.Helper()
	res, err := b.stat(path)
	if err != nil {
		b.t.Fatalf("stat of %s: %v", path, err)
	}
	return res.Card
}

// body is the whole body of outputs/path in wb1 as the file route gives it.
func (b *bench) body(path string) string {
	b.t.Helper()
	f, err := b.OpenFile(ctx, op.FileRef{ID: "wb1", Section: "outputs", Path: path})
	if err != nil {
		b.t.Fatalf("opening %s: %v", path, err)
	}
	defer f.Close()
	var out bytes.Buffer
	if err := f.WriteRange(ctx, &out, 0, f.Card().SizeBytes); err != nil {
		b.t.Fatalf("reading %s: %v", path, err)
	}
	return out.String()
}

func (b *bench) read(path string, change func(*op.WorkbenchReadRequest)) (*op.WorkbenchReadResult, error) {
	req := &op.WorkbenchReadRequest{ID: "wb1", Section: "outputs", Path: path}
	if change != nil {
		change(req)
	}
	return b.Read(ctx, req)
}

func (b *bench) list(section, path *string, change func(*op.WorkbenchListRequest)) (*op.WorkbenchListResult, error) {
	req := &op.WorkbenchListRequest{ID: "wb1", Section: section, Path: path}
	if change != nil {
		change(req)
	}
	return b.List(ctx, req)
}

func entries(res *op.WorkbenchListResult) []string {
	out := []string{}
	for _, e := range res.Entries {
		out = append(out, e.Name+map[string]string{"file": "", "directory": "/"}[e.Kind])
	}
	return out
}

// refused demands a reason and exactly these details, as key, value, key, value…
func refused(t testing.TB, err error, reason op.Reason, details ...any) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Reason != reason {
		t.Errorf("got %v, want %s", err, reason)
		return
	}
	want := map[string]any{}
	for i := 0; i < len(details); i += 2 {
		v := details[i+1]
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		want[details[i].(string)] = v
	}
	got := map[string]any{}
	for _, d := range f.Details {
		got[d.Key] = d.Value
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s has details %v, want %v", reason, got, want)
	}
	if f.Message == "" {
		t.Errorf("%s says nothing", reason)
	}
}

// valid demands that a result satisfies its own schema.
func valid(t testing.TB, res interface{ Validate() *op.Invalid }) {
	t.Helper()
	if inv := res.Validate(); inv != nil {
		t.Errorf("the result breaks its schema: %v", inv)
	}
}

func b64(data []byte) *string { return ptr(base64.StdEncoding.EncodeToString(data)) }

// pattern is n bytes that repeat late and hold every value.
func pattern(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i>>8) ^ byte(i*7)
	}
	return out
}

// mustNotRead fails the test when a body is looked at that should not be.
type mustNotRead struct{ t testing.TB }

func (m mustNotRead) Read([]byte) (int, error) {
	m.t.Error("the body was read")
	return 0, io.EOF
}
