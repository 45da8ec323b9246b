package server

import (
	"net/http"
	"slices"
	"strings"

	connectcors "connectrpc.com/cors"

	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/httpapi"
)

// operatorOrigin is where the operator's console is developed; its contract sends this origin with every answer.
const operatorOrigin = "http://127.0.0.1:5173"

var (
	varyOrigin      = []string{"Origin"}
	operatorMethods = []string{"GET, POST, OPTIONS"}
	operatorHeaders = []string{"Content-Type"}
	operatorDefault = []string{operatorOrigin}
	allMethods      = []string{"GET, HEAD, POST, PUT, DELETE, OPTIONS"}
	allHeaders      = []string{join(connectcors.AllowedHeaders(), "Accept", "Content-Type", "Content-Digest", "Repr-Digest", "If-Match",
		"If-None-Match", "If-Range", "Range", "Last-Event-ID", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "X-Request-Id")}
	exposedHeaders = []string{join(connectcors.ExposedHeaders(), "Allow", "Accept-Ranges", "Content-Digest", "Content-Range", "ETag", "Last-Modified",
		"Mcp-Session-Id", "Repr-Digest", "Retry-After", "X-Request-Id")}
	preflightAge = []string{"7200"}
)

func join(lists []string, more ...string) string {
	all := append(slices.Clone(lists), more...)
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// allowOrigin puts on the answer what a browser needs to hand it to the page that asked. The guard has let the
// request's origin pass.
func allowOrigin(w http.ResponseWriter, r *http.Request, area op.Area) {
	header := w.Header()
	origins := r.Header["Origin"]
	if area == op.AreaOperator {
		header["Access-Control-Allow-Methods"] = operatorMethods
		header["Access-Control-Allow-Headers"] = operatorHeaders
		header["Vary"] = varyOrigin
		if len(origins) == 0 {
			header["Access-Control-Allow-Origin"] = operatorDefault
			return
		}
	}
	if len(origins) == 0 {
		return
	}
	header["Access-Control-Allow-Origin"] = origins
	header["Access-Control-Expose-Headers"] = exposedHeaders
	header["Vary"] = varyOrigin
}

// preflight answers OPTIONS.
func preflight(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if httpapi.AreaOf(r.URL.Path) != op.AreaOperator || isConnectPath(r.URL.Path) {
		header["Access-Control-Allow-Methods"] = allMethods
		header["Access-Control-Allow-Headers"] = allHeaders
		header["Access-Control-Max-Age"] = preflightAge
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		header.Set("Access-Control-Allow-Private-Network", "true")
	}
	header["Content-Length"] = []string{"0"}
	w.WriteHeader(http.StatusNoContent)
}
