package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/server/httpapi"
)

const (
	file      = "/v1/workbenches/wb1/files/outputs/a.txt"
	ofABC     = "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"
	ofNothing = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
)

func code(t *testing.T, r reply) string {
	t.Helper()
	var e struct {
		Code string `json:"code"`
	}
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		t.Fatalf("%d %q is no error envelope: %v", r.StatusCode, r.body, err)
	}
	return e.Code
}

// Invariant 5: every combination of precondition and state does the one thing that it says, or nothing.
func TestPutCreatesOrReplaces(t *testing.T) {
	for _, c := range []struct {
		name    string
		exists  bool // the file stands at generation 2
		headers []string
		status  int
		code    string
		then    int64 // generation afterwards
	}{
		{"create", false, nil, 201, "", 1},
		{"create over a file", true, nil, 409, "AlreadyExists", 2},
		{"explicit create", false, []string{"If-None-Match", "*"}, 201, "", 1},
		{"explicit create over a file", true, []string{"If-None-Match", "*"}, 409, "AlreadyExists", 2},
		{"replace", true, []string{"If-Match", `"2"`}, 200, "", 3},
		{"replace an older generation", true, []string{"If-Match", `"1"`}, 412, "Conflict", 2},
		{"replace what is not there", false, []string{"If-Match", `"1"`}, 412, "Conflict", 0},
		{"replace any", true, []string{"If-Match", `*`}, 200, "", 3},
		{"replace any that is not there", false, []string{"If-Match", `*`}, 412, "Conflict", 0},
		{"replace one of several", true, []string{"If-Match", `"1", "2"`}, 200, "", 3},
		{"replace one of several, on two lines", true, []string{"If-Match", `"1"`, "If-Match", `"2"`}, 200, "", 3},
		{"replace none of several", true, []string{"If-Match", `"1", "3"`}, 412, "Conflict", 2},
		{"a weak tag", true, []string{"If-Match", `W/"2"`}, 412, "Conflict", 2},
		{"a bare number", true, []string{"If-Match", `2`}, 400, "InvalidArguments", 2},
		{"an empty list", false, []string{"If-Match", ``}, 400, "InvalidArguments", 0},
		{"both at once", true, []string{"If-Match", `"2"`, "If-None-Match", "*"}, 400, "InvalidArguments", 2},
		{"If-None-Match with a tag", true, []string{"If-None-Match", `"1"`}, 400, "InvalidArguments", 2},
		{"a part", false, []string{"Content-Range", "bytes 0-2/9"}, 400, "InvalidArguments", 0},
		{"an encoding", false, []string{"Content-Encoding", "gzip"}, 415, "InvalidArguments", 0},
		{"the digest of the body", false, []string{"Content-Digest", ofABC}, 201, "", 1},
		{"both digests", false, []string{"Content-Digest", ofABC, "Repr-Digest", ofABC}, 201, "", 1},
		{"another digest", false, []string{"Repr-Digest", ofNothing}, 400, "InvalidArguments", 0},
		{"a malformed digest", false, []string{"Content-Digest", "sha-256=abc"}, 400, "InvalidArguments", 0},
		{"a digest of a kind we do not know", false, []string{"Content-Digest", "md5=:AAAA:"}, 201, "", 1},
		{"two types", false, []string{"Content-Type", "text/plain", "Content-Type", "text/html"}, 400, "InvalidArguments", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := serve(t, nil)
			if c.exists {
				f.do(t, "PUT", file, strings.NewReader("one"))
				f.do(t, "PUT", file, strings.NewReader("two"), "If-Match", `"1"`)
			}
			r := f.do(t, "PUT", file, strings.NewReader("abc"), c.headers...)
			if r.StatusCode != c.status {
				t.Fatalf("status %d %s, want %d", r.StatusCode, r.body, c.status)
			}
			if c.code != "" && code(t, r) != c.code {
				t.Errorf("code %s, want %s", code(t, r), c.code)
			}
			var then int64
			if s := f.files.get("wb1", "outputs", "a.txt"); s != nil {
				then = s.generation
			}
			if then != c.then {
				t.Errorf("generation %d afterwards, want %d", then, c.then)
			}
			if c.status >= 300 {
				return
			}
			if tag := fmt.Sprintf("%q", fmt.Sprint(c.then)); r.Header.Get("ETag") != tag {
				t.Errorf("ETag %s, want %s", r.Header.Get("ETag"), tag)
			}
			var res struct {
				Status     string `json:"status"`
				Generation int64  `json:"generation"`
				SizeBytes  int64  `json:"size_bytes"`
				Replace    bool   `json:"replace"`
			}
			if err := json.Unmarshal([]byte(r.body), &res); err != nil || res.Status != "success" || res.Generation != c.then || res.SizeBytes != 3 || res.Replace != (c.status == 200) {
				t.Errorf("result %s, %v", r.body, err)
			}
		})
	}
}

// A refusal that the present state decides does not read a large body first, and the server takes the next request.
func TestLargeUploadsAreRefusedEarly(t *testing.T) {
	f := serve(t, nil)
	f.do(t, "PUT", file, strings.NewReader("one"))
	// Without a wait the client begins to send at once, and may notice the closed connection before the answer.
	f.Client().Transport.(*http.Transport).ExpectContinueTimeout = time.Minute
	for _, headers := range [][]string{nil, {"If-Match", `"7"`}} {
		r := f.do(t, "PUT", file, strings.NewReader(strings.Repeat("x", 900<<10)), append(headers, "Expect", "100-continue")...)
		if r.StatusCode != 409 && r.StatusCode != 412 {
			t.Errorf("status %d", r.StatusCode)
		}
	}
	if f.files.stores != 1 {
		t.Errorf("%d stores, want the first alone", f.files.stores)
	}
	if r := f.do(t, "GET", file, nil); r.body != "one" {
		t.Errorf("the file reads %q", r.body)
	}
}

func TestBodyCap(t *testing.T) {
	f := serve(t, func(o *httpapi.Options) { o.MaxFileBytes = 1000 })
	for name, in := range map[string]io.Reader{
		"announced": strings.NewReader(strings.Repeat("x", 1001)),
		"chunked":   io.MultiReader(strings.NewReader(strings.Repeat("x", 500)), strings.NewReader(strings.Repeat("x", 501))),
	} {
		r := f.do(t, "PUT", file, in)
		if r.StatusCode != 413 || code(t, r) != "PayloadTooLarge" || !strings.Contains(r.body, `"maximum_bytes":1000`) || !strings.Contains(r.body, `"actual_bytes":1001`) {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.body)
		}
	}
	if len(f.files.files) != 0 {
		t.Error("something was stored")
	}
	if r := f.do(t, "PUT", file, strings.NewReader(strings.Repeat("x", 1000))); r.StatusCode != 201 {
		t.Errorf("a body of exactly the cap: %d %s", r.StatusCode, r.body)
	}
}

// Invariant 4: a body that breaks off stores nothing, and the server lives.
func TestBrokenUploads(t *testing.T) {
	f := serve(t, nil)
	for name, request := range map[string]string{
		"announced": "PUT " + file + " HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
		"chunked":   "PUT " + file + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"nonsense":  "PUT " + file + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
	} {
		conn, err := net.Dial("tcp", f.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		conn.(*net.TCPConn).CloseWrite()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && resp.StatusCode < 400 {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
		conn.Close()
	}
	if len(f.files.files) != 0 || f.files.stores != 0 {
		t.Errorf("something was stored: %v", f.files.files)
	}
	if r := f.do(t, "PUT", file, strings.NewReader("")); r.StatusCode != 201 {
		t.Errorf("an empty file afterwards: %d", r.StatusCode)
	}
}

func TestGetAndHead(t *testing.T) {
	f := serve(t, nil)
	f.do(t, "PUT", file, strings.NewReader("abc"), "Content-Type", "text/plain; charset=utf-8")
	want := map[string]string{
		"ETag": `"1"`, "Content-Length": "3", "Content-Type": "text/plain; charset=utf-8", "Accept-Ranges": "bytes", "Repr-Digest": ofABC,
		"Last-Modified": "Fri, 02 Jan 2026 03:04:05 GMT", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "no-cache",
	}
	for _, c := range []struct {
		name, method string
		headers      []string
		status       int
		body         string
		header       map[string]string
	}{
		{"get", "GET", nil, 200, "abc", want},
		{"head", "HEAD", nil, 200, "", want},
		{"head ignores Range", "HEAD", []string{"Range", "bytes=0-0"}, 200, "", want},
		{"current generation", "GET", []string{"If-None-Match", `"1"`}, 304, "", map[string]string{"ETag": `"1"`}},
		{"current generation, weakly", "HEAD", []string{"If-None-Match", `"7", W/"1"`}, 304, "", map[string]string{"ETag": `"1"`}},
		{"any generation", "GET", []string{"If-None-Match", `*`}, 304, "", nil},
		{"another generation", "GET", []string{"If-None-Match", `"2"`}, 200, "abc", want},
		{"matching", "GET", []string{"If-Match", `"1"`}, 200, "abc", want},
		{"matching any", "GET", []string{"If-Match", `*`}, 200, "abc", want},
		{"not matching", "GET", []string{"If-Match", `"2"`}, 412, "", nil},
		{"not matching weakly", "GET", []string{"If-Match", `W/"1"`}, 412, "", nil},
		{"If-Match goes first", "GET", []string{"If-Match", `"2"`, "If-None-Match", `"1"`}, 412, "", nil},
		{"malformed tags", "GET", []string{"If-None-Match", `1`}, 400, "", nil},
		{"a date is no reason for 304", "GET", []string{"If-Modified-Since", "Fri, 02 Jan 2026 03:04:05 GMT"}, 200, "abc", want},
		{"range", "GET", []string{"Range", "bytes=1-1"}, 206, "b", map[string]string{"Content-Range": "bytes 1-1/3", "Content-Length": "1", "ETag": `"1"`, "Repr-Digest": ofABC, "Content-Digest": ""}},
		{"suffix", "GET", []string{"Range", "bytes=-2"}, 206, "bc", map[string]string{"Content-Range": "bytes 1-2/3"}},
		{"beyond the end", "GET", []string{"Range", "bytes=3-"}, 416, "", map[string]string{"Content-Range": "bytes */3", "ETag": "", "Content-Type": "application/json"}},
		{"malformed range", "GET", []string{"Range", "bytes=2-1"}, 200, "abc", want},
		{"two Range lines", "GET", []string{"Range", "bytes=0-0", "Range", "bytes=1-1"}, 200, "abc", want},
		{"range of this version", "GET", []string{"Range", "bytes=0-0", "If-Range", `"1"`}, 206, "a", nil},
		{"range of another version", "GET", []string{"Range", "bytes=0-0", "If-Range", `"2"`}, 200, "abc", want},
		{"range of a weak version", "GET", []string{"Range", "bytes=0-0", "If-Range", `W/"1"`}, 200, "abc", want},
		{"range of a date", "GET", []string{"Range", "bytes=0-0", "If-Range", "Fri, 02 Jan 2026 03:04:05 GMT"}, 200, "abc", want},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := f.do(t, c.method, file, nil, c.headers...)
			if r.StatusCode != c.status || c.status < 400 && r.body != c.body {
				t.Fatalf("%d %q, want %d %q", r.StatusCode, r.body, c.status, c.body)
			}
			for k, v := range c.header {
				if r.Header.Get(k) != v {
					t.Errorf("%s: %q, want %q", k, r.Header.Get(k), v)
				}
			}
		})
	}
	if r := f.do(t, "GET", file, nil); r.Header.Get("Content-Digest") != ofABC {
		t.Errorf("Content-Digest %q of a whole body", r.Header.Get("Content-Digest"))
	}
	if r := f.do(t, "HEAD", "/v1/workbenches/wb1/files/outputs/none", nil); r.StatusCode != 404 || r.body != "" {
		t.Errorf("HEAD of a missing file: %d %q", r.StatusCode, r.body)
	}
}

func TestSeveralRanges(t *testing.T) {
	f := serve(t, nil)
	f.do(t, "PUT", file, strings.NewReader("0123456789"), "Content-Type", "text/x")
	r := f.do(t, "GET", file, nil, "Range", "bytes=0-1, 4-5, -1")
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || r.StatusCode != 206 || media != "multipart/byteranges" || r.Header.Get("Content-Length") != fmt.Sprint(len(r.body)) {
		t.Fatalf("%d %s, length %s of %d, %v", r.StatusCode, media, r.Header.Get("Content-Length"), len(r.body), err)
	}
	var parts []string
	mr := multipart.NewReader(strings.NewReader(r.body), params["boundary"])
	for {
		p, err := mr.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p.Header.Get("Content-Type")+" "+p.Header.Get("Content-Range")+" "+string(b))
	}
	want := "[text/x bytes 0-1/10 01 text/x bytes 4-5/10 45 text/x bytes 9-9/10 9]"
	if fmt.Sprint(parts) != want {
		t.Errorf("parts %v, want %s", parts, want)
	}
}

// Invariant 4, reading: an answer that cannot be finished breaks off, and is not taken for a whole one.
func TestBrokenDownloadsBreakTheConnection(t *testing.T) {
	f := serve(t, nil)
	f.do(t, "PUT", file, strings.NewReader(strings.Repeat("x", 500<<10)))
	f.files.broken = 300 << 10
	resp, err := http.Get(f.URL + file)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Errorf("%d bytes came without an error", n)
	}
	// What is asked for in front of the damage comes.
	if r := f.do(t, "GET", file, nil, "Range", "bytes=0-9"); r.body != "xxxxxxxxxx" {
		t.Errorf("a range in front of the damage: %d %q", r.StatusCode, r.body)
	}
}

// Invariant 3: nothing that names another place gets through, and what is encoded twice is a name like any other. The
// requests are written on the wire as they stand, for a client would tidy them.
func TestTraversalIsRefused(t *testing.T) {
	f := serve(t, nil)
	refused := []string{
		"..", ".", "../x", "a/../x", "a/./x", "a/..", "%2e%2e", "%2e%2e/x", ".%2e/x", "%2E%2E%2Fx", "..%2fx", "a%2fx", "a%5cx", "a\\x", "%00", "a%00b",
		"%zz", "%2", "x/%2e%2e/%2e%2e/y", "%2f%2fx", "x%2f",
	}
	for _, p := range refused {
		for _, method := range []string{"GET", "HEAD", "PUT"} {
			status := raw(t, f, method, "/v1/workbenches/wb1/files/outputs/"+p)
			if status != 400 {
				t.Errorf("%s %s: status %d, want 400", method, p, status)
			}
		}
	}
	for _, path := range []string{"/v1/workbenches/../files/outputs/x", "/v1/workbenches/wb1/files/%2e%2e/x", "/v1/workbenches/%2e%2e/files/outputs/x", "/v1/workbenches/wb1%2ffiles/files/outputs/x"} {
		if status := raw(t, f, "PUT", path); status != 400 {
			t.Errorf("PUT %s: status %d, want 400", path, status)
		}
	}
	if len(f.files.files) != 0 {
		t.Errorf("something was stored: %v", f.files.files)
	}
	for p, want := range map[string]string{"a%20b": "a b", "%C3%A4": "ä", "a+b": "a+b", "100%25": "100%", "x;y=z": "x;y=z", "a:b": "a:b", "..a": "..a", "a%3Fb": "a?b", "%25zz": "%zz",
		"%252e%252e": "%2e%2e", "..%252fx": "..%2fx", "%252e%252e%252fescape": "%2e%2e%2fescape", "a%255cb": "a%5cb"} {
		if status := raw(t, f, "PUT", "/v1/workbenches/wb1/files/outputs/"+p); status != 201 {
			t.Errorf("PUT %s: status %d, want 201", p, status)
		}
		if f.files.get("wb1", "outputs", want) == nil {
			t.Errorf("PUT %s did not store %q", p, want)
		}
	}
}

func raw(t *testing.T, f *fixture, method, target string) int {
	t.Helper()
	conn, err := net.Dial("tcp", f.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, target); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestFileRoutesRefuseWhatTheyAreNot(t *testing.T) {
	f := serve(t, nil)
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", file + "?x=1", 400, "InvalidArguments"},
		{"POST", file, 405, "MethodNotAllowed"},
		{"DELETE", file, 405, "MethodNotAllowed"},
		{"GET", "/v1/workbenches/wb1/files/outputs", 400, "InvalidArguments"},
		{"GET", "/v1/workbenches/wb1/other/outputs/a", 404, "NotFound"},
		{"GET", "/v1/workbenches/wb1", 404, "NotFound"},
		{"GET", "/v1/workbenches/", 404, "NotFound"},
	} {
		r := f.do(t, c.method, c.path, nil)
		if r.StatusCode != c.status || code(t, r) != c.code {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, r.StatusCode, r.body, c.status, c.code)
		}
		if allow := r.Header.Get("Allow"); (r.StatusCode == 405) != (allow == "GET, HEAD, PUT") {
			t.Errorf("%s %s: Allow %q", c.method, c.path, allow)
		}
	}
}
