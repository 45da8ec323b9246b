package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// guard decides who may talk to this server: programs on this machine, and pages that were loaded from this machine.
//
// The server has no passwords by default, so that a page of another site must not reach it: neither by asking for it
// (the Origin header says so, and Sec-Fetch-Site where there is none), nor by a name of its own that resolves to this
// machine (the Host header says so).
type guard struct {
	hosts map[string]bool
}

func newGuard(allowed []string) guard {
	g := guard{hosts: map[string]bool{}}
	for _, h := range allowed {
		g.hosts[strings.ToLower(h)] = true
	}
	return g
}

// single are the headers that mean something here, or to a proxy in front, and have one value. Of two, one reader would take
// the first and another the last; so the second is refused, even when it repeats the first. Lists, such as Accept, If-Match
// and Tracestate, may come in several lines; an X-Request-Id is a label, of which the first counts; net/http refuses a
// second Host and a second Content-Length that differs.
var single = []string{"Authorization", "Content-Type", "Content-Encoding", "Content-Range", "Range", "If-Range", "If-Modified-Since", "If-Unmodified-Since",
	"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Last-Event-Id", "Connect-Protocol-Version", "Connect-Timeout-Ms",
	"Grpc-Timeout", "Grpc-Encoding", "Connect-Content-Encoding", "Sec-Fetch-Site", "Traceparent"}

// repeated names a header that was sent more than once and must not be; "" when there is none.
func repeated(h http.Header) string {
	for _, name := range single {
		if len(h[name]) > 1 {
			return name
		}
	}
	return ""
}

// check refuses what may not pass (invariant 1).
func (g guard) check(r *http.Request) error {
	if name := repeated(r.Header); name != "" {
		return fault.Newf(op.ReasonInvalidArguments, "The header %s is given more than once.", name)
	}
	if !g.host(r.Host) {
		return fault.New(op.ReasonForbiddenOrigin, "")
	}
	if origins := r.Header["Origin"]; len(origins) > 0 {
		if len(origins) > 1 || !g.origin(origins[0]) {
			return fault.New(op.ReasonForbiddenOrigin, "")
		}
		return nil
	}
	if sites := r.Header["Sec-Fetch-Site"]; len(sites) > 0 && sites[0] == "cross-site" && !navigation(r) {
		return fault.New(op.ReasonForbiddenOrigin, "")
	}
	return nil
}

// navigation reports whether a person followed a link: then no page of the other site sees the answer.
func navigation(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// host judges a Host header, with or without a port.
func (g guard) host(hostport string) bool {
	host, port := hostport, ""
	if i := strings.LastIndexByte(hostport, ':'); i >= 0 && !strings.HasSuffix(hostport, "]") {
		if strings.IndexByte(hostport, ':') == i || strings.HasPrefix(hostport, "[") {
			host, port = hostport[:i], hostport[i+1:]
		}
	}
	if strings.Trim(port, "0123456789") != "" {
		return false
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return g.name(host)
}

func (g guard) name(host string) bool {
	switch host {
	case "127.0.0.1", "localhost", "::1":
		return true
	case "":
		return false
	}
	host = strings.ToLower(host)
	if host == "localhost" || g.hosts[host] {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() && addr.Zone() == ""
}

// origin judges an Origin header.
func (g guard) origin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return g.name(u.Hostname())
}

// LoopbackOnly reports whether an address to listen on can be reached from this machine only.
func LoopbackOnly(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
