package workbench_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/kv/kvtest"
	"github.com/sawhorse-dev/sawhorse/core/workbench"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

const (
	day   = 24 * time.Hour
	grace = 30 * time.Second
)

// committed is a bench whose wb1 can be snapshotted.
func committed(t testing.TB, changes ...func(*workbench.Options)) *bench {
	t.Helper()
	b := newBench(t, changes...)
	if err := b.Stamp(ctx, "wb1"); err != nil {
		t.Fatal(err)
	}
	return b
}

// snapshot takes a snapshot of wb1, or ends the test.
func (b *bench) snapshot(name string, change func(*op.WorkbenchSnapshotRequest)) *op.WorkbenchSnapshotResult {
	b.t.Helper()
	req := &op.WorkbenchSnapshotRequest{ID: "wb1", TtlDays: ptr(int32(1))}
	if name != "" {
		req.Name = &name
	}
	if change != nil {
		change(req)
	}
	res, err := b.Snapshot(ctx, req)
	if err != nil {
		b.t.Fatalf("taking a snapshot: %v", err)
	}
	valid(b.t, res)
	return res
}

func at(sel any) *op.IntOrString {
	if name, ok := sel.(string); ok {
		return &op.IntOrString{IsString: true, Str: name}
	}
	return &op.IntOrString{Int: sel.(int64)}
}

func (b *bench) renew(sel any, days int32) (*op.WorkbenchSnapshotRenewResult, error) {
	req := &op.WorkbenchSnapshotRenewRequest{ID: "wb1", TtlDays: &days}
	if s := at(sel); s.IsString {
		req.Name = &s.Str
	} else {
		req.SnapshotID = &s.Int
	}
	return b.SnapshotRenew(ctx, req)
}

func (b *bench) retire(sel any, reason *string) (*op.WorkbenchSnapshotRetireResult, error) {
	req := &op.WorkbenchSnapshotRetireRequest{ID: "wb1", Reason: reason}
	if s := at(sel); s.IsString {
		req.Name = &s.Str
	} else {
		req.SnapshotID = &s.Int
	}
	return b.SnapshotRetire(ctx, req)
}

// states gives "id:state" of every snapshot of wb1.
func (b *bench) states() []string {
	b.t.Helper()
	res, err := b.SnapshotList(ctx, &op.WorkbenchSnapshotListRequest{ID: "wb1"})
	if err != nil {
		b.t.Fatal(err)
	}
	valid(b.t, res)
	if res.SnapshotCount != int64(len(res.Snapshots)) {
		b.t.Errorf("%d snapshots are counted as %d", len(res.Snapshots), res.SnapshotCount)
	}
	out := []string{}
	for _, s := range res.Snapshots {
		out = append(out, fmt.Sprintf("%d:%s", s.SnapshotID, s.State))
	}
	return out
}

func (b *bench) expectStates(want ...string) {
	b.t.Helper()
	if got := b.states(); !slices.Equal(got, want) {
		b.t.Errorf("the snapshots are %q, want %q", got, want)
	}
}

// fire sets off the timers that are due.
func (b *bench) fire() int {
	b.t.Helper()
	n, err := b.timers.Fire(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// forget makes the store drop whatever nothing keeps.
func (b *bench) forget() {
	b.t.Helper()
	b.env.Clock.Advance(10 * time.Minute)
	if _, err := b.env.Store.Reap(ctx); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) expectHolds(want int) {
	b.t.Helper()
	if n, err := b.Holds(ctx); err != nil || n != want {
		b.t.Errorf("%d holds, %v; want %d", n, err, want)
	}
}

func (b *bench) textAt(path string, sel *op.IntOrString) (string, error) {
	res, err := b.read(path, func(r *op.WorkbenchReadRequest) { r.AtSnapshot = sel })
	if err != nil {
		return "", err
	}
	valid(b.t, res)
	lines := []string{}
	for _, item := range res.Items {
		lines = append(lines, strings.Trim(string(item.Value), `"`))
	}
	return strings.Join(lines, "\n"), nil
}

func TestSnapshotAnswers(t *testing.T) {
	b := committed(t)
	epoch := kvtest.Epoch.UnixMilli()
	deadline := func(days int64) int64 { return epoch + days*86_400_000 }

	res, err := b.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: "wb1"})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"annotation":{"metadata":null,"reason":null},"expiry_warning":"ttl_days was left out, so the snapshot expires after 7 days; workbench_snapshot_renew extends it.",`+
		`"lease_expires_at":%[1]d,"lease_expires_unix_ms":%[1]d,"name":null,"path":"/agents/default/wb/wb1","read_version":%[2]d,"snapshot_id":1,"state":"alive","status":"success","ttl_days":7,"workbench_id":"wb1"}`,
		deadline(7), res.ReadVersion)
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	// Numbers in metadata keep their values, whatever a float would make of them.
	res = b.snapshot("nightly", func(r *op.WorkbenchSnapshotRequest) {
		r.TtlDays, r.Reason = ptr(int32(90)), ptr("before the migration")
		r.Metadata = op.RawJSON(` { "z" : 9007199254740993, "a": [ 1e-7, 100.0, 18446744073709551615 ], "é": null } `)
	})
	annotation := `{"metadata":{"a":[1e-7,100.0,18446744073709551615],"z":9007199254740993,"é":null},"reason":"before the migration"}`
	want = fmt.Sprintf(`{"annotation":%[3]s,"lease_expires_at":%[1]d,"lease_expires_unix_ms":%[1]d,"name":"nightly","path":"/agents/default/wb/wb1","read_version":%[2]d,`+
		`"snapshot_id":2,"state":"alive","status":"success","ttl_days":90,"workbench_id":"wb1"}`, deadline(90), res.ReadVersion, annotation)
	if got := string(res.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	// Renewing only ever extends; asked for less, the answer is what is there.
	renewed, err := b.renew("nightly", 3)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, renewed)
	want = fmt.Sprintf(`{"annotation":%[3]s,"lease_expires_at":%[1]d,"lease_expires_unix_ms":%[1]d,"name":"nightly","path":"/agents/default/wb/wb1","read_version":%[2]d,"renewed":true,`+
		`"snapshot_id":2,"state":"alive","status":"success","ttl_days":3,"workbench_id":"wb1"}`, deadline(90), res.ReadVersion, annotation)
	if got := string(renewed.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if renewed, err = b.renew(int64(1), 8); err != nil || renewed.LeaseExpiresAt != deadline(8) || renewed.Name != nil {
		t.Errorf("%+v, %v", renewed, err)
	}

	retired, err := b.retire(int64(1), ptr("no longer needed"))
	if err != nil {
		t.Fatal(err)
	}
	valid(t, retired)
	want = `{"name":null,"path":"/agents/default/wb/wb1","retire_annotation":{"metadata":null,"reason":"no longer needed"},"retired":true,"snapshot_id":1,"state":"retired","status":"success","workbench_id":"wb1"}`
	if got := string(retired.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// The first reason stands.
	if retired, err = b.retire(int64(1), ptr("another reason")); err != nil || retired.Retired || retired.State != "retired" || *retired.RetireAnnotation.Reason != "no longer needed" {
		t.Errorf("%+v, %v", retired, err)
	}
	if retired, err = b.retire("nightly", nil); err != nil || !retired.Retired || retired.RetireAnnotation != nil {
		t.Errorf("%+v, %v", retired, err)
	}

	list, err := b.SnapshotList(ctx, &op.WorkbenchSnapshotListRequest{ID: "wb1"})
	if err != nil {
		t.Fatal(err)
	}
	want = fmt.Sprintf(`{"annotation":%[3]s,"lease_expires_at":%[1]d,"lease_expires_unix_ms":%[1]d,"name":"nightly","read_version":%[2]d,"retire_annotation":null,"snapshot_id":2,"state":"retired"}`,
		deadline(90), res.ReadVersion, annotation)
	if got := string(list.Snapshots[1].AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	b.expectStates("1:retired", "2:retired")
}

func TestSnapshotNeedsACommit(t *testing.T) {
	b := newBench(t)
	_, err := b.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: "wb1"})
	refused(t, err, op.ReasonWBNotFound, "path", "")
	b.put("a", "x")
	_, err = b.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: "wb1"})
	refused(t, err, op.ReasonWBNotCommitted, "workbench_id", "wb1")
	b.expectStates()
	b.expectHolds(0)
}

func TestUnknownSnapshots(t *testing.T) {
	b := committed(t)
	b.put("a", "x")
	b.snapshot("mine", nil)
	if err := b.Stamp(ctx, "wb2"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: "wb2", Name: ptr("theirs")}); err != nil {
		t.Fatal(err)
	}
	// Neither what never was, nor what is another workbench's.
	for _, sel := range []any{int64(0), int64(2), int64(1<<63 - 1), "theirs", "1", "Mine"} {
		_, err := b.renew(sel, 1)
		refused(t, err, op.ReasonWBSnapshotNotFound)
		_, err = b.retire(sel, nil)
		refused(t, err, op.ReasonWBSnapshotNotFound)
		_, err = b.list(nil, nil, func(r *op.WorkbenchListRequest) { r.AtSnapshot = at(sel) })
		refused(t, err, op.ReasonWBNotFound, "path", "")
		for _, section := range []*string{nil, ptr("outputs")} {
			_, err = b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", Section: section, AtSnapshot: at(sel)})
			refused(t, err, op.ReasonWBNotFound, "path", map[bool]string{true: "", false: "outputs"}[section == nil])
		}
		_, err = b.textAt("a", at(sel))
		refused(t, err, op.ReasonWBNotFound, "path", "outputs/a")
	}
	for _, id := range []string{"wb3"} {
		_, err := b.SnapshotList(ctx, &op.WorkbenchSnapshotListRequest{ID: id})
		refused(t, err, op.ReasonWBSnapshotNotFound)
		_, err = b.SnapshotRenew(ctx, &op.WorkbenchSnapshotRenewRequest{ID: id, Name: ptr("mine")})
		refused(t, err, op.ReasonWBSnapshotNotFound)
		_, err = b.SnapshotRetire(ctx, &op.WorkbenchSnapshotRetireRequest{ID: id, Name: ptr("mine")})
		refused(t, err, op.ReasonWBSnapshotNotFound)
	}
}

func TestSnapshotArguments(t *testing.T) {
	b := committed(t)
	deep := func(n int) op.RawJSON { return op.RawJSON(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)) }
	members := func(n int) op.RawJSON {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(`"m%d":{"x":1,"y:":[":"]}`, i)
		}
		return op.RawJSON("{" + strings.Join(parts, ",") + "}")
	}
	for what, req := range map[string]op.WorkbenchSnapshotRequest{
		"$.name: empty":            {Name: ptr("")},
		"$.name: long":             {Name: ptr(strings.Repeat("é", 65))},
		"$.name: NUL":              {Name: ptr("a\x00b")},
		"$.ttl_days: none":         {TtlDays: ptr(int32(0))},
		"$.ttl_days: many":         {TtlDays: ptr(int32(91))},
		"$.reason: empty":          {Reason: ptr("")},
		"$.metadata: array":        {Metadata: op.RawJSON(`[1]`)},
		"$.metadata: number":       {Metadata: op.RawJSON(`1`)},
		"$.metadata: broken":       {Metadata: op.RawJSON(`{`)},
		"$.metadata: out of range": {Metadata: op.RawJSON(`{"a":1e400}`)},
		"$.metadata: deep":         {Metadata: deep(9)},
		"$.metadata: wide":         {Metadata: members(65)},
		"$.metadata: large":        {Metadata: op.RawJSON(`{"a":"` + strings.Repeat("x", 4096) + `"}`)},
	} {
		req.ID = "wb1"
		_, err := b.Snapshot(ctx, &req)
		refused(t, err, op.ReasonWBInvalidArguments)
		if member, _, _ := strings.Cut(what, ":"); err == nil || !strings.Contains(err.Error(), member) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// What is just within the bounds.
	envelope := len(`{"metadata":{"a":""},"reason":null}`)
	for _, req := range []op.WorkbenchSnapshotRequest{
		{Name: ptr(strings.Repeat("é", 64))}, {TtlDays: ptr(int32(90))}, {Metadata: deep(8)}, {Metadata: members(64)}, {Metadata: op.RawJSON(`{}`)}, {Metadata: op.RawJSON(`null`)},
		{Metadata: op.RawJSON(`{"a":"` + strings.Repeat("x", 4096-envelope) + `"}`)},
	} {
		req.ID = "wb1"
		res, err := b.Snapshot(ctx, &req)
		if err != nil {
			t.Errorf("%+v: %v", req, err)
			continue
		}
		valid(t, res)
	}
	for _, req := range []op.WorkbenchSnapshotRenewRequest{
		{}, {Name: ptr("a"), SnapshotID: ptr(int64(1))}, {Name: ptr("")}, {Name: ptr("\x00")}, {SnapshotID: ptr(int64(-1))}, {SnapshotID: ptr(int64(1)), TtlDays: ptr(int32(0))},
	} {
		req.ID = "wb1"
		_, err := b.SnapshotRenew(ctx, &req)
		refused(t, err, op.ReasonWBInvalidArguments)
	}
	for _, req := range []op.WorkbenchSnapshotRetireRequest{
		{}, {Name: ptr("a"), SnapshotID: ptr(int64(1))}, {SnapshotID: ptr(int64(-1))}, {SnapshotID: ptr(int64(1)), Reason: ptr("")},
		{SnapshotID: ptr(int64(1)), Reason: ptr(strings.Repeat("x", 5000))},
	} {
		req.ID = "wb1"
		_, err := b.SnapshotRetire(ctx, &req)
		refused(t, err, op.ReasonWBInvalidArguments)
	}
	for _, sel := range []*op.IntOrString{at(""), at("a\x00"), at(strings.Repeat("x", 129)), at(int64(-1))} {
		_, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", AtSnapshot: sel})
		refused(t, err, op.ReasonWBInvalidArguments)
	}
	for _, id := range []string{"", "a/b"} {
		_, err := b.Snapshot(ctx, &op.WorkbenchSnapshotRequest{ID: id})
		refused(t, err, op.ReasonWBBadID)
		_, err = b.SnapshotRenew(ctx, &op.WorkbenchSnapshotRenewRequest{ID: id, Name: ptr("a")})
		refused(t, err, op.ReasonWBBadID)
		_, err = b.SnapshotRetire(ctx, &op.WorkbenchSnapshotRetireRequest{ID: id, Name: ptr("a")})
		refused(t, err, op.ReasonWBBadID)
		_, err = b.SnapshotList(ctx, &op.WorkbenchSnapshotListRequest{ID: id})
		refused(t, err, op.ReasonWBBadID)
	}
}

// WB-15: every state at the very millisecond, whether the background comes round
// in time or not.
func TestSnapshotStatesGoByTheClock(t *testing.T) {
	for _, punctual := range []bool{true, false} {
		b := committed(t)
		b.put("a", "frozen")
		b.snapshot("s", nil)
		b.replace("a", "live")
		step := func(d time.Duration) {
			b.env.Clock.Advance(d)
			if punctual {
				b.fire()
			}
		}
		readsAs := func(reason op.Reason) {
			t.Helper()
			text, err := b.textAt("a", at("s"))
			if reason == "" && (err != nil || text != "frozen") {
				t.Errorf("read %q, %v", text, err)
			}
			_, listErr := b.list(nil, nil, func(r *op.WorkbenchListRequest) { r.AtSnapshot = at(int64(1)) })
			_, statErr := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", AtSnapshot: at("s")})
			if reason == "" {
				if listErr != nil || statErr != nil {
					t.Errorf("list %v, stat %v", listErr, statErr)
				}
				return
			}
			refused(t, err, reason)
			refused(t, listErr, reason)
			refused(t, statErr, reason)
		}
		step(day - time.Millisecond)
		b.expectStates("1:alive")
		readsAs("")
		step(time.Millisecond)
		b.expectStates("1:expired")
		readsAs(op.ReasonWBSnapshotExpired)
		step(grace - time.Millisecond)
		b.expectStates("1:expired")
		readsAs(op.ReasonWBSnapshotExpired)

		// Within the grace a renewal revives, from now on.
		renewed, err := b.renew("s", 1)
		if err != nil || renewed.LeaseExpiresAt != b.env.Clock.Now().Add(day).UnixMilli() {
			t.Fatalf("%+v, %v", renewed, err)
		}
		b.expectStates("1:alive")
		readsAs("")
		step(day + grace - time.Millisecond)
		b.expectStates("1:expired")
		step(time.Millisecond)
		b.expectStates("1:reaped")
		readsAs(op.ReasonWBSnapshotEnded)
		_, err = b.renew("s", 1)
		refused(t, err, op.ReasonWBSnapshotExpired)
		retired, err := b.retire("s", ptr("late"))
		if err != nil || retired.Retired || retired.State != "reaped" || retired.RetireAnnotation != nil {
			t.Errorf("%+v, %v", retired, err)
		}

		// The background comes in the end, once, and releases what was kept.
		b.expectHolds(map[bool]int{true: 0, false: 1}[punctual])
		if n, want := b.fire(), map[bool]int{true: 0, false: 1}[punctual]; n != want {
			t.Errorf("%d timers went off, want %d", n, want)
		}
		b.expectHolds(0)
		b.expectStates("1:reaped")
		b.reopen()
		b.expectStates("1:reaped")
		readsAs(op.ReasonWBSnapshotEnded)
	}
}

func TestTheGraceIsConfigurable(t *testing.T) {
	for _, c := range []struct{ option, want time.Duration }{{0, grace}, {-1, 0}, {time.Hour, time.Hour}} {
		b := committed(t, func(o *workbench.Options) { o.SnapshotGrace = c.option })
		b.snapshot("", nil)
		if c.want > 0 {
			b.env.Clock.Advance(day + c.want - time.Millisecond)
			b.fire()
			b.expectStates("1:expired")
			b.env.Clock.Advance(time.Millisecond)
		} else {
			b.env.Clock.Advance(day)
		}
		b.expectStates("1:reaped")
	}
	// A grace that grew over a restart holds for what was armed before.
	b := committed(t)
	b.snapshot("s", nil)
	b.reopen(func(o *workbench.Options) { o.SnapshotGrace = time.Hour })
	b.env.Clock.Advance(day + grace)
	b.fire()
	b.expectStates("1:expired")
	if _, err := b.renew("s", 1); err != nil {
		t.Error(err)
	}
	b.env.Clock.Advance(day + time.Hour)
	b.fire()
	b.expectStates("1:reaped")
	b.expectHolds(0)
}

// WB-13
func TestTheNewestMintOwnsAName(t *testing.T) {
	b := committed(t)
	b.put("a", "one")
	b.snapshot("s", nil)
	b.replace("a", "two")
	b.snapshot("s", nil)
	b.replace("a", "three")
	want := func(sel any, text string) {
		t.Helper()
		if got, err := b.textAt("a", at(sel)); err != nil || got != text {
			t.Errorf("at %v: %q, %v, want %q", sel, got, err, text)
		}
	}
	want("s", "two")
	want(int64(1), "one")
	// Renewing an older mint does not move the name.
	if res, err := b.renew(int64(1), 5); err != nil || *res.Name != "s" {
		t.Error(res, err)
	}
	want("s", "two")
	// A newest mint that has ended keeps the name.
	if res, err := b.retire("s", nil); err != nil || res.SnapshotID != 2 {
		t.Error(res, err)
	}
	_, err := b.textAt("a", at("s"))
	refused(t, err, op.ReasonWBSnapshotEnded)
	_, err = b.renew("s", 1)
	refused(t, err, op.ReasonWBSnapshotEnded)
	want(int64(1), "one")
	b.snapshot("s", nil)
	want("s", "three")
	b.expectStates("1:alive", "2:retired", "3:alive")
}

func TestAFrozenStateStays(t *testing.T) {
	b := committed(t)
	big := string(pattern(300 << 10))
	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb1", Section: "outputs", Path: "big", Base64: b64([]byte(big))}); err != nil {
		t.Fatal(err)
	}
	b.put("a", "one")
	b.put("dir/x", "x")
	id := b.snapshot("s", nil).SnapshotID
	before := map[string]op.WorkbenchCard{"a": b.card("a"), "big": b.card("big"), "dir": b.card("dir"), "dir/x": b.card("dir/x")}

	b.replace("a", "two")
	b.replace("big", "small now")
	b.append("dir/x", "more")
	b.put("dir/y", "y")
	b.put("new/z", "z")
	b.forget()
	for range 3 {
		if _, err := b.bodies.Collect(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, sel := range []*op.IntOrString{at(id), at("s")} {
		res, err := b.list(ptr("outputs"), nil, func(r *op.WorkbenchListRequest) { r.AtSnapshot = sel })
		if err != nil || !slices.Equal(entries(res), []string{"a", "big", "dir/"}) || *res.AtSnapshot != *sel {
			t.Errorf("%+v, %v", res, err)
		}
		valid(t, res)
		for path, card := range before {
			res, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", Section: ptr("outputs"), Path: &path, AtSnapshot: sel})
			if err != nil || string(res.Card.AppendJSON(nil)) != string(card.AppendJSON(nil)) || *res.AtSnapshot != *sel {
				t.Errorf("%s: %+v, %v, want %+v", path, res, err, card)
			}
			valid(t, res)
		}
		for _, path := range []string{"dir/y", "new"} {
			_, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", Section: ptr("outputs"), Path: &path, AtSnapshot: sel})
			refused(t, err, op.ReasonWBNotFound, "path", "outputs/"+path)
			_, err = b.textAt(path, sel)
			refused(t, err, op.ReasonWBNotFound, "path", "outputs/"+path)
		}
		if text, err := b.textAt("a", sel); err != nil || text != "one" {
			t.Errorf("%q, %v", text, err)
		}
		if text, err := b.textAt("dir/x", sel); err != nil || text != "x" {
			t.Errorf("%q, %v", text, err)
		}
		part, err := b.read("big", func(r *op.WorkbenchReadRequest) {
			r.AtSnapshot, r.Format, r.Offset, r.Limit = sel, ptr("bytes"), ptr(int64(299<<10)), ptr(int32(300))
		})
		if err != nil || *part.Bytes != *b64([]byte(big)[299<<10 : 299<<10+300]) || part.TotalSizeBytes != 300<<10 {
			t.Errorf("%+v, %v", part, err)
		}
		// The generation that the snapshot saw is the one to compare with.
		for generation, unmodified := range map[int64]bool{1: true, 2: false} {
			res, err := b.read("a", func(r *op.WorkbenchReadRequest) { r.AtSnapshot, r.IfNoneMatch = sel, &generation })
			if err != nil || res.NotModified != unmodified || res.Generation != 1 || *res.AtSnapshot != *sel {
				t.Errorf("%+v, %v", res, err)
			}
			valid(t, res)
		}
		// The sections and the workbench itself are always there.
		for _, section := range []*string{nil, ptr("logs")} {
			res, err := b.Stat(ctx, &op.WorkbenchStatRequest{ID: "wb1", Section: section, AtSnapshot: sel})
			if err != nil || res.Card.Kind != "directory" {
				t.Errorf("%+v, %v", res, err)
			}
		}
		_, err = b.list(ptr("outputs"), ptr("a"), func(r *op.WorkbenchListRequest) { r.AtSnapshot = sel })
		refused(t, err, op.ReasonWBNotDirectory, "path", "outputs/a")
	}
	// Once it has ended, what only it kept goes; what is live stays.
	if _, err := b.retire(id, nil); err != nil {
		t.Fatal(err)
	}
	b.forget()
	if got := b.body("a"); got != "two" {
		t.Error(got)
	}
}

// A busy neighbour's history is not kept by a snapshot.
func TestASnapshotHoldsItsOwnWorkbenchOnly(t *testing.T) {
	b := committed(t)
	b.put("a", "one")
	if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: "wb2", Section: "outputs", Path: "a", Text: ptr("one")}); err != nil {
		t.Fatal(err)
	}
	b.snapshot("s", nil)
	for i := range 50 {
		for _, id := range []string{"wb1", "wb2"} {
			if _, err := b.PutFile(ctx, &op.WorkbenchPutFileRequest{ID: id, Section: "outputs", Path: "a", Text: ptr(fmt.Sprint(i)), Replace: ptr(true)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.env.Clock.Advance(10 * time.Minute)
	dropped, err := b.env.Store.Reap(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// Of all that was superseded, only the record that the snapshot shows stays.
	if text, err := b.textAt("a", at("s")); err != nil || text != "one" {
		t.Errorf("%q, %v", text, err)
	}
	if dropped.Kept != 1 {
		t.Errorf("%+v, want one kept", dropped)
	}
}

func TestConsumersKeepASnapshot(t *testing.T) {
	b := committed(t)
	b.put("a", "frozen")
	id := b.snapshot("s", nil).SnapshotID
	b.replace("a", "live")
	consume := func(operation byte, add, dropped bool) {
		t.Helper()
		if got, err := b.Consume(ctx, "wb1", id, operation, add); err != nil || got != dropped {
			t.Errorf("operation %d: dropped %v, %v", operation, got, err)
		}
	}
	consume(1, true, false)
	consume(2, true, false)
	_, err := b.retire("s", nil)
	refused(t, err, op.ReasonWBForkRetentionActive)
	consume(1, false, true)
	consume(1, false, false) // once only
	_, err = b.retire("s", nil)
	refused(t, err, op.ReasonWBForkRetentionActive)

	// Past its time it stays for its consumer, and shows nothing to others.
	b.env.Clock.Advance(day + grace)
	if n := b.fire(); n != 1 {
		t.Errorf("%d timers went off", n)
	}
	b.forget()
	b.expectStates("1:expired")
	b.expectHolds(1)
	_, err = b.textAt("a", at(id))
	refused(t, err, op.ReasonWBSnapshotExpired)
	_, err = b.retire("s", nil)
	refused(t, err, op.ReasonWBForkRetentionActive)
	b.reopen()
	b.fire()
	b.expectStates("1:expired")

	// With the last consumer it ends, at once by the clock, and then in the store.
	consume(2, false, true)
	b.expectStates("1:reaped")
	b.expectHolds(1)
	if n := b.fire(); n != 1 {
		t.Errorf("%d timers went off", n)
	}
	b.expectHolds(0)
	b.expectStates("1:reaped")
}

func TestAConsumedSnapshotCanBeRenewed(t *testing.T) {
	b := committed(t)
	b.put("a", "frozen")
	id := b.snapshot("s", nil).SnapshotID
	if _, err := b.Consume(ctx, "wb1", id, 1, true); err != nil {
		t.Fatal(err)
	}
	b.env.Clock.Advance(2 * day)
	b.fire()
	if _, err := b.renew("s", 1); err != nil {
		t.Fatal(err)
	}
	b.expectStates("1:alive")
	if dropped, err := b.Consume(ctx, "wb1", id, 1, false); err != nil || !dropped {
		t.Error(dropped, err)
	}
	b.fire()
	b.expectStates("1:alive")
	if text, err := b.textAt("a", at("s")); err != nil || text != "frozen" {
		t.Errorf("%q, %v", text, err)
	}
	b.env.Clock.Advance(day + grace)
	b.fire()
	b.expectStates("1:reaped")
	b.expectHolds(0)
}
