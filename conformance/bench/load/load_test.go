package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// serve starts h and returns its HOST:PORT.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestEveryNumberOfATemplateIsSentOnce(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		seen[string(body)]++
		mu.Unlock()
		io.WriteString(w, "stored")
	})
	template := Request("POST", "/put", []byte("d##/f###"))
	holes, err := Punch(template, []int64{1000, 1}, []int64{100, 1000})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), Plan{Addr: addr, Conns: 4, Duration: time.Minute, Template: template, Holes: holes, Next: 995, Limit: 10, Status: 200, Expect: "stored"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Count != 10 || len(seen) != 10 {
		t.Fatalf("counted %d, seen %v", r.Count, seen)
	}
	for n := 995; n < 1005; n++ {
		if name := fmt.Sprintf("d%02d/f%03d", n/1000, n%1000); seen[name] != 1 {
			t.Errorf("%s was sent %d times", name, seen[name])
		}
	}
}

func TestAnUnexpectedAnswerEndsTheRun(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "good")
		},
		"body": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "bad") },
	} {
		t.Run(name, func(t *testing.T) {
			addr := serve(t, h)
			_, err := Run(t.Context(), Plan{Addr: addr, Conns: 2, Duration: time.Minute, Requests: [][]byte{Request("GET", "/", nil)}, Status: 200, Expect: "good"})
			if err == nil || !strings.Contains(err.Error(), "wanted 200") {
				t.Errorf("the run ended with %v", err)
			}
		})
	}
}

func TestBothKindsOfBodiesAreRead(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chunked" {
			for range 10 {
				io.WriteString(w, long)
				w.(http.Flusher).Flush()
			}
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(long)))
		io.WriteString(w, long)
	})
	c, err := Dial(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for path, want := range map[string]int{"/chunked": 10 * len(long), "/sized": len(long)} {
		for range 2 { // the connection stays good
			status, body, err := c.Do(Request("GET", path, nil))
			if err != nil || status != 200 || len(body) != want {
				t.Errorf("%s: %d, %d bytes, %v; want %d bytes", path, status, len(body), err, want)
			}
		}
	}
}

func TestHolesMustMatchTheirDivisors(t *testing.T) {
	if _, err := Punch([]byte("a#b##"), []int64{1}, []int64{10}); err == nil {
		t.Error("a run of # without a divisor was taken")
	}
	if _, err := Punch([]byte("a#b"), []int64{1, 10}, []int64{10, 10}); err == nil {
		t.Error("a divisor without a run of # was taken")
	}
}
