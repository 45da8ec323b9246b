package connectapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// The deadline is the caller's, by the header of its protocol; the answer says so in our words. The client waits without one of its own, so
// that the answer is the server's.
func TestADeadlineEndsTheCall(t *testing.T) {
	s, _ := serve(t)
	for _, x := range []struct{ kind, header, value, content string }{
		{"application/json", "Connect-Timeout-Ms", "20", `{"id":"wait"}`},
		{"application/grpc+json", "Grpc-Timeout", "20m", "\x00\x00\x00\x00\x0d" + `{"id":"wait"}`},
		{"application/grpc-web+json", "Grpc-Timeout", "20m", "\x00\x00\x00\x00\x0d" + `{"id":"wait"}`},
	} {
		r, err := http.NewRequest(http.MethodPost, s.URL+stat, strings.NewReader(x.content))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", x.kind)
		r.Header.Set(x.header, x.value)
		resp, err := h2c().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := refusalOf(t, resp, answer)
		if got.code != "deadline_exceeded" || got.detail.GetReason() != "DEADLINE_EXCEEDED" || got.message != got.detail.GetMessage() {
			t.Errorf("%s: %+v", x.kind, got)
		}
	}
}
