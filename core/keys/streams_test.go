package keys_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/keys"
)

// KEY-3 for names of any bytes.
func TestStreamKeysRoundTrip(t *testing.T) {
	for _, name := range []string{"", "a", "a\x00", "\x00\x01", "\xff\xff", "wörk/bench"} {
		if root, got, sequence, err := keys.CutEvent(keys.AppendEvent(nil, 3, name, 1<<60)); root != 3 || got != name || sequence != 1<<60 || err != nil {
			t.Errorf("event of %q: %d %q %d, %v", name, root, got, sequence, err)
		}
		if root, got, err := keys.CutEventHead(keys.AppendEventHead(nil, 3, name)); root != 3 || got != name || err != nil {
			t.Errorf("event head of %q: %d %q, %v", name, root, got, err)
		}
		if root, got, err := keys.CutLease(keys.AppendLease(nil, 3, name)); root != 3 || got != name || err != nil {
			t.Errorf("lease %q: %d %q, %v", name, root, got, err)
		}
		for _, id := range []string{"", "x", "\x00"} {
			if root, kind, got, err := keys.CutOperation(keys.AppendOperation(nil, 3, name, id)); root != 3 || kind != name || got != id || err != nil {
				t.Errorf("operation %q %q: %d %q %q, %v", name, id, root, kind, got, err)
			}
			if root, kind, got, err := keys.CutTimer(keys.AppendTimer(nil, 3, name, id)); root != 3 || kind != name || got != id || err != nil {
				t.Errorf("timer %q %q: %d %q %q, %v", name, id, root, kind, got, err)
			}
			root, due, kind, got, err := keys.CutTimerDue(keys.AppendTimerDue(nil, 3, -5, name, id))
			if root != 3 || due != -5 || kind != name || got != id || err != nil {
				t.Errorf("timer due %q %q: %d %d %q %q, %v", name, id, root, due, kind, got, err)
			}
		}
	}
	if root, rev, number, err := keys.CutAudit(keys.AppendAudit(nil, 3, 9, 4)); root != 3 || rev != 9 || number != 4 || err != nil {
		t.Errorf("audit: %d %d %d, %v", root, rev, number, err)
	}
	if _, _, err := keys.CutLease(keys.AppendEventHead(nil, 3, "a")); !errors.Is(err, keys.ErrMalformed) {
		t.Errorf("an event head passes for a lease: %v", err)
	}
}

// KEY-2: events by sequence, timers by due time, and no stream among another's
// events.
func TestStreamKeysSort(t *testing.T) {
	for what, ordered := range map[string][][]byte{
		"events": {
			keys.AppendEvents(nil, 1, "a"), keys.AppendEvent(nil, 1, "a", 1), keys.AppendEvent(nil, 1, "a", 256),
			keys.AppendEvent(nil, 1, "a", math.MaxUint64), keys.AppendEvents(nil, 1, "a\x00"), keys.AppendEvents(nil, 1, "aa"),
			keys.AppendEvent(nil, 1, "b", 1), keys.AppendEvent(nil, 2, "", 1),
		},
		"due times": {
			keys.AppendTimerDue(nil, 1, math.MinInt64, "z", "z"), keys.AppendTimerDue(nil, 1, -1, "z", "z"),
			keys.AppendTimerDue(nil, 1, 0, "a", "z"), keys.AppendTimerDue(nil, 1, 0, "b", ""), keys.AppendTimerDue(nil, 1, 1<<40, "a", "a"),
		},
	} {
		for i := 1; i < len(ordered); i++ {
			if bytes.Compare(ordered[i-1], ordered[i]) >= 0 {
				t.Errorf("%s: %x does not sort before %x", what, ordered[i-1], ordered[i])
			}
		}
	}
}

// KEY-4.
func FuzzStreamDecoders(f *testing.F) {
	f.Add(keys.AppendEvent(nil, 1, "s", 5))
	f.Add(keys.AppendEventHead(nil, 1, "s\x00"))
	f.Add(keys.AppendOperation(nil, 1, "kind", "key"))
	f.Add(keys.AppendAudit(nil, 1, 2, 3))
	f.Add(keys.AppendTimer(nil, 1, "kind", "id"))
	f.Add(keys.AppendTimerDue(nil, 1, -9, "kind", "id"))
	f.Add(keys.AppendLease(nil, 1, "name"))
	f.Fuzz(func(t *testing.T, key []byte) {
		same := func(again []byte, err error) {
			if err == nil && !bytes.Equal(again, key) {
				t.Errorf("%x decodes, and encodes to %x", key, again)
			}
		}
		root, a, sequence, err := keys.CutEvent(key)
		same(keys.AppendEvent(nil, root, a, sequence), err)
		root, a, err = keys.CutEventHead(key)
		same(keys.AppendEventHead(nil, root, a), err)
		root, a, err = keys.CutLease(key)
		same(keys.AppendLease(nil, root, a), err)
		root, a, b, err := keys.CutOperation(key)
		same(keys.AppendOperation(nil, root, a, b), err)
		root, a, b, err = keys.CutTimer(key)
		same(keys.AppendTimer(nil, root, a, b), err)
		root, due, a, b, err := keys.CutTimerDue(key)
		same(keys.AppendTimerDue(nil, root, due, a, b), err)
		root, rev, number, err := keys.CutAudit(key)
		same(keys.AppendAudit(nil, root, rev, number), err)
	})
}
