package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/driver"
	"github.com/sawhorse-dev/sawhorse/conformance/scenario"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// tableID is the workbench that tables write their ids as; a shared target gets another one in its place.
const tableID = "wb1"

// playTable plays one table of malformed input over every protocol that carries its operation. On each the store
// holds one witness file, which must stand alone and unchanged after every row, and the same connection must
// still serve.
func (r *runner) playTable(ctx context.Context, t *scenario.Table) {
	op, _ := r.options.Library.Contract.Operation(t.Op)
	for _, p := range r.options.Protocols {
		if r.stopped(ctx) {
			return
		}
		switch {
		case !r.wants(Single):
			return
		case t.HTTP && p != driver.HTTP, !t.HTTP && !p.Carries(op):
			continue
		}
		res := Result{ID: t.ID, Mode: Single, Protocol: p, Prose: t.Prose}
		if why, un := r.unreachable[p]; un {
			r.add(res.notApplicable(why))
			continue
		}
		began := time.Now()
		played := r.tableOver(ctx, t, op, p, &res)
		res.Duration = time.Since(began)
		switch {
		case res.Outcome == Failed:
		case played == 0:
			continue
		default:
			res.Outcome = Passed
		}
		r.add(res)
	}
}

// tableOver plays the rows of a table over one protocol and says how many it could.
func (r *runner) tableOver(ctx context.Context, t *scenario.Table, op *contract.Operation, p driver.Protocol, res *Result) int {
	whole := ctx
	l, err := r.lease(ctx, time.Time{})
	if err != nil {
		res.fail("the target does not start: %v", err)
		return 0
	}
	w := &witness{runner: r, table: t, op: op, protocol: p, lease: l, end: r.endpoint(l)}
	defer func() {
		if w.driver != nil {
			_ = w.driver.Close()
		}
		if err := l.end(whole); err != nil {
			res.fail("%v", err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, r.options.StepTimeout)
	defer cancel()
	if err := w.begin(ctx); err != nil {
		res.fail("%v", err)
		return 0
	}
	played := 0
	for i := range t.Rows {
		row := &t.Rows[i]
		if len(row.Wires) > 0 && !slices.Contains(row.Wires, string(p)) {
			continue
		}
		failures, err := w.row(ctx, row)
		if errors.Is(err, driver.ErrInexpressible) {
			res.NotCarried++
			continue
		}
		played++
		for _, f := range failures {
			res.fail("%s:%d %s: %s", t.File, row.Line, row.Name, f)
		}
		if len(failures) > 0 && res.Trace == "" {
			res.Trace = w.trace
		}
		if err != nil {
			res.fail("%s:%d %s: the server or its connection did not survive: %v", t.File, row.Line, row.Name, err)
			return played
		}
	}
	return played
}

// witness is the store beside which a table is played.
type witness struct {
	runner   *runner
	table    *scenario.Table
	op       *contract.Operation
	protocol driver.Protocol
	lease    *lease
	end      driver.Endpoint
	driver   driver.Driver
	before   string
	trace    string
}

func (w *witness) id() string { return w.lease.prefix + tableID }

func (w *witness) begin(ctx context.Context) error {
	d, err := driver.Open(ctx, w.protocol, w.end)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", w.protocol, err)
	}
	w.driver = d
	if !w.protocol.Carries(w.operation("workbench.put_file")) {
		return nil
	}
	if _, err := w.good(ctx, "workbench.put_file", map[string]any{
		"id": w.id(), "section": "outputs", "path": "witness.txt", "text": "witness",
	}); err != nil {
		return err
	}
	w.before, err = w.look(ctx)
	return err
}

func (w *witness) operation(id string) *contract.Operation {
	op, _ := w.runner.options.Library.Contract.Operation(id)
	return op
}

// good makes a call that must succeed.
func (w *witness) good(ctx context.Context, id string, args map[string]any) (any, error) {
	a, err := w.driver.Call(ctx, w.operation(id), args)
	if err != nil {
		return nil, err
	}
	if a.Result == nil || len(a.Breaches) > 0 {
		w.trace = w.driver.Trace()
		return nil, fmt.Errorf("a good call of %s failed: %s %v", id, value.Shorten(a.Canonical()), a.Breaches)
	}
	return a.Result, nil
}

// look reads everything that a write could have changed, over the connection that carried the row.
func (w *witness) look(ctx context.Context) (string, error) {
	if !w.protocol.Carries(w.operation("workbench.list")) {
		_, err := w.good(ctx, w.op.ID, map[string]any{})
		return "", err
	}
	var seen []byte
	card, err := w.good(ctx, "workbench.stat", map[string]any{"id": w.id(), "section": "outputs", "path": "witness.txt"})
	if err != nil {
		return "", err
	}
	seen = value.Append(seen, card)
	for _, section := range []any{nil, "input", "scripts", "outputs", "logs", "metadata"} {
		page, err := w.good(ctx, "workbench.list", map[string]any{"id": w.id(), "section": section})
		if err != nil {
			return "", err
		}
		seen = value.Append(seen, page)
	}
	return string(seen), nil
}

// row plays one row. The error says that the connection broke.
func (w *witness) row(ctx context.Context, row *scenario.Row) ([]string, error) {
	var failures []string
	var err error
	if w.table.HTTP {
		failures, err = w.request(ctx, row)
	} else {
		failures, err = w.arguments(ctx, row)
	}
	if err != nil {
		return failures, err
	}
	after, err := w.look(ctx)
	if err != nil {
		return failures, err
	}
	if row.Accept {
		w.before = after
	}
	if after != w.before {
		failures = append(failures, fmt.Sprintf("the store changed from %s to %s", w.before, after))
		w.before = after
	}
	return failures, nil
}

// arguments sends a row in the place of an operation's arguments.
func (w *witness) arguments(ctx context.Context, row *scenario.Row) ([]string, error) {
	raw := bytes.ReplaceAll(row.Arguments, []byte(tableID), []byte(w.id()))
	a, err := w.driver.Send(ctx, w.op, raw)
	if errors.Is(err, driver.ErrInexpressible) {
		// A protocol without JSON text carries the row when it is a value and the encoding can say it.
		v, decodeErr := value.Decode(raw)
		if decodeErr != nil {
			return nil, driver.ErrInexpressible
		}
		a, err = w.driver.Call(ctx, w.op, v)
	}
	if err != nil {
		return nil, err
	}
	w.trace = w.driver.Trace()
	failures := slices.Clone(a.Breaches)
	add := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	switch {
	case a.Fault != nil && row.Level == scenario.LevelSyntax:
		if a.Fault.Message == "" {
			add("the protocol's error has no message")
		}
		if leak := leaked(a.Fault.Message); leak != "" {
			add("%q in the error shows the inside of the server: %s", leak, a.Fault.Message)
		}
	case a.Fault != nil:
		add("the protocol refused the whole message: %d %s", a.Fault.Code, a.Fault.Message)
	case row.Accept:
		if a.Refusal != nil {
			add("refused with %s: %s", a.Refusal.Code, a.Refusal.Message)
		}
	case a.Refusal == nil:
		add("succeeded with %s, want %s", value.Shorten(a.Result), row.Reason)
	default:
		reason, _ := w.runner.options.Library.Contract.Reason(row.Reason)
		failures = append(failures, judgeRefusal(reason, w.op.Area, a.Refusal, nil, row.Names)...)
	}
	return failures, nil
}

// request sends a row as a raw HTTP request.
func (w *witness) request(ctx context.Context, row *scenario.Row) ([]string, error) {
	x, err := exchange(ctx, w.end, w.protocol, w.prefixed(row.Request), value.Names{})
	if err != nil {
		return nil, err
	}
	w.trace = x.String()
	x.unprefix(w.lease.prefix)
	if row.Accept {
		if x.status >= 300 {
			return []string{fmt.Sprintf("refused with %d: %s", x.status, value.Shorten(string(x.body)))}, nil
		}
		return nil, nil
	}
	return x.judgeReason(w.runner.options.Library, row.Reason, nil, row.Names), nil
}

// prefixed puts the id of a shared target into a request.
func (w *witness) prefixed(m *scenario.Message) *scenario.Message {
	if w.lease.prefix == "" {
		return m
	}
	out := *m
	swap := func(t *value.Template) *value.Template {
		text, err := t.Text(value.Names{})
		if err != nil {
			return t
		}
		return value.Literal(string(bytes.ReplaceAll([]byte(text), []byte(tableID), []byte(w.id()))))
	}
	out.Path = swap(m.Path)
	if m.Body != nil {
		out.Body = swap(m.Body)
	}
	return &out
}
