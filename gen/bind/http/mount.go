// Code copied by gwgen from tools/gwgen/internal/emit/runtime/http/mount.go. DO NOT EDIT.

// Package bindhttp joins the operations to the routes that oapi-codegen made from the OpenAPI documents.
//
// Routes only: arguments are read by the operation's one strict decoder, never by oapi-codegen's.
package bindhttp

import (
	"net/http"
	"strings"

	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Serve answers a request for an operation. Path parameters are in the request's PathValue, decoded once.
type Serve func(w http.ResponseWriter, r *http.Request, d *op.Descriptor)

// Route is a method and path with its operation.
type Route struct {
	// Pattern is for http.ServeMux: "GET /health", "PUT /v1/workbenches/{id}/files/{section}/{path...}".
	Pattern string
	Op      *op.Descriptor
}

// Mount registers every operation that HTTP carries on mux. It panics, as ServeMux does, when a pattern conflicts with
// one that is registered already.
func Mount(mux *http.ServeMux, serve Serve) {
	own := map[string]*op.Descriptor{}
	for _, r := range Routes {
		if r.Op.Effect == op.Stream {
			own[strings.ReplaceAll(r.Pattern, "...}", "}")] = r.Op
			mux.HandleFunc(r.Pattern, func(w http.ResponseWriter, req *http.Request) { serve(w, req, r.Op) })
		}
	}
	mount(&router{mux: mux, own: own}, serve)
}

// router is what oapi-codegen registers its routes on. Streams are left out: OpenAPI cannot say that a parameter spans
// several segments, and their headers are the adapter's business.
type router struct {
	mux *http.ServeMux
	own map[string]*op.Descriptor
}

// HandleFunc registers a route unless it is a stream's.
func (r *router) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	if r.own[pattern] == nil {
		r.mux.HandleFunc(pattern, h)
	}
}

// ServeHTTP passes to the mux.
func (r *router) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.mux.ServeHTTP(w, req) }
