package connectapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A call ends before its caller stops listening, by a twentieth of the time allowed, or 20 ms of a long one.
func TestACallEndsBeforeItsCallerLeaves(t *testing.T) {
	for allowed, least := range map[string]time.Duration{"20": time.Millisecond, "200": 10 * time.Millisecond, "60000": 20 * time.Millisecond} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set(connectWire.timeout, allowed)
		d, _ := connectTimeout(allowed)
		start := time.Now()
		ctx, cancel, err := connectWire.deadline(r)
		end := time.Now()
		if err != nil {
			t.Fatal(err)
		}
		defer cancel()
		at, ok := ctx.Deadline()
		if !ok || at.Before(start.Add(d-least)) || at.After(end.Add(d-least)) {
			t.Errorf("%s ms: the call ends %v after its arrival", allowed, at.Sub(start))
		}
	}
}
