package httpapi

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	bindhttp "github.com/sawhorse-dev/sawhorse/gen/bind/http"
	"github.com/sawhorse-dev/sawhorse/gen/op"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/call"
)

// Options configure a Handler.
type Options struct {
	Pipeline *call.Pipeline
	Budget   *body.Budget
	// Now tells the time of error envelopes that carry one.
	Now func() time.Time
	// MaxCallBytes bounds the body of a JSON call.
	MaxCallBytes int64
	// MaxFileBytes bounds a raw body.
	MaxFileBytes int64
}

// Handler serves the JSON operations and the raw file routes. It is safe for concurrent use.
type Handler struct {
	o      Options
	routes map[string]*route
}

// route is one literal path.
type route struct {
	area    op.Area
	methods map[string]http.Handler
	allow   string
}

// New builds the routes from the catalogue.
func New(o Options) *Handler {
	h := &Handler{o: o, routes: map[string]*route{}}
	// The generated routes are asked once, here, which handler serves each path: matching a literal path by a map costs
	// less than the multiplexer's, and leaves the answers to wrong paths and methods to us.
	mux := http.NewServeMux()
	bindhttp.Mount(mux, h.serve)
	for _, d := range op.Descriptors {
		if d.HTTPPath == "" || strings.Contains(d.HTTPPath, "{") {
			continue
		}
		r := h.routes[d.HTTPPath]
		if r == nil {
			r = &route{area: d.Area, methods: map[string]http.Handler{}}
			h.routes[d.HTTPPath] = r
		}
		probe, err := http.NewRequest(d.HTTPMethod, d.HTTPPath, nil)
		if err != nil {
			panic("httpapi: path of " + d.ID + ": " + err.Error())
		}
		handler, pattern := mux.Handler(probe)
		if pattern == "" {
			panic("httpapi: the generated routes lack " + d.ID)
		}
		r.methods[d.HTTPMethod] = handler
		if d.HTTPMethod == http.MethodGet {
			r.methods[http.MethodHead] = handler
		}
	}
	for _, r := range h.routes {
		var names []string
		for m := range r.methods {
			names = append(names, m)
		}
		slices.Sort(names)
		r.allow = strings.Join(names, ", ")
	}
	return h
}

// AreaOf tells in whose words a path is answered, also a path that leads nowhere.
func AreaOf(path string) op.Area {
	switch {
	case strings.HasPrefix(path, "/v1/"), path == "/v1", strings.HasPrefix(path, "/mcp/"):
		return op.AreaWorkbench
	case strings.HasPrefix(path, "/api/"), path == "/api", path == "/ws":
		return op.AreaJobs
	}
	return op.AreaOperator
}

// ServeHTTP answers every path; those that nothing is served under with 404 in the words of their area.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	rt := h.routes[path]
	if rt == nil {
		if strings.HasPrefix(path, filesPrefix) {
			h.serveFiles(w, r)
			return
		}
		// The operator's clients may end a path with slashes.
		if trimmed := strings.TrimRight(path, "/"); trimmed != path && AreaOf(path) == op.AreaOperator {
			rt = h.routes[trimmed]
		}
		if rt == nil {
			h.Fail(w, r, AreaOf(path), fault.New(op.ReasonNotFoundRoute, ""))
			return
		}
	}
	handler := rt.methods[r.Method]
	if handler == nil {
		w.Header()["Allow"] = []string{rt.allow}
		h.Fail(w, r, rt.area, fault.New(op.ReasonMethodNotAllowed, ""))
		return
	}
	handler.ServeHTTP(w, r)
}

// serve carries out one JSON operation.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, d *op.Descriptor) {
	caller := h.o.Pipeline.Via(call.HTTP, requestID(w))
	var res op.Result
	var err error
	if d.HTTPMethod == http.MethodGet {
		res, err = h.get(caller, r, d)
	} else {
		if err = acceptable(r, d); err != nil {
			h.Fail(w, r, d.Area, caller.Refuse(r.Context(), d, err))
			return
		}
		buf, rerr := h.o.Budget.Read(w, r, h.o.MaxCallBytes)
		if rerr != nil {
			h.Fail(w, r, d.Area, caller.Refuse(r.Context(), d, rerr))
			return
		}
		res, err = caller.CallJSON(r.Context(), d, buf.Bytes())
		buf.Release()
	}
	if err != nil {
		h.Fail(w, r, d.Area, err)
		return
	}
	out := answers.Get().(*[]byte)
	*out = res.AppendJSON((*out)[:0])
	writeJSON(w, r, d.Area, http.StatusOK, *out)
	recycle(out)
}

// get carries out an operation whose arguments are in the path and the query.
func (h *Handler) get(caller call.Caller, r *http.Request, d *op.Descriptor) (op.Result, error) {
	read, ok := bindhttp.Params[d]
	if !ok {
		return caller.Call(r.Context(), d, d.New())
	}
	req, inv := read(r)
	if inv != nil {
		return nil, caller.Refuse(r.Context(), d, call.Invalid(d, inv))
	}
	return caller.Call(r.Context(), d, req)
}

// acceptable checks what the headers say of a JSON body. The operator's clients need not name a type.
func acceptable(r *http.Request, d *op.Descriptor) error {
	if enc := r.Header["Content-Encoding"]; len(enc) > 0 && !(len(enc) == 1 && strings.EqualFold(enc[0], "identity")) {
		return fault.New(op.ReasonUnsupportedMediaType, "Send the request body without a content encoding.")
	}
	if d.Area == op.AreaOperator {
		return nil
	}
	types := r.Header["Content-Type"]
	if len(types) == 1 {
		if types[0] == "application/json" {
			return nil
		}
		media, params, err := mime.ParseMediaType(types[0])
		if err == nil && media == "application/json" {
			if cs, has := params["charset"]; !has || strings.EqualFold(cs, "utf-8") {
				return nil
			}
		}
	}
	return fault.New(op.ReasonUnsupportedMediaType, "")
}

// Fail writes err as the area's error envelope. err should carry a reason; one that does not is INTERNAL.
func (h *Handler) Fail(w http.ResponseWriter, r *http.Request, area op.Area, err error) {
	h.fail(w, r, area, call.PublicIn(area, err))
}

func (h *Handler) fail(w http.ResponseWriter, r *http.Request, area op.Area, p call.Public) {
	out := answers.Get().(*[]byte)
	*out = call.AppendError((*out)[:0], area, p, h.o.Now())
	if p.HTTPStatus == http.StatusServiceUnavailable {
		w.Header()["Retry-After"] = retryAfter
	}
	writeJSON(w, r, area, p.HTTPStatus, *out)
	recycle(out)
}

var (
	typePlain   = []string{"application/json"}
	typeCharset = []string{"application/json; charset=utf-8"}
	noStore     = []string{"no-store"}
	noSniff     = []string{"nosniff"}
	retryAfter  = []string{"1"}
)

// writeJSON writes one JSON answer. The header values are shared slices, which nobody appends to.
func writeJSON(w http.ResponseWriter, r *http.Request, area op.Area, status int, data []byte) {
	header := w.Header()
	if area == op.AreaOperator {
		header["Content-Type"] = typeCharset
	} else {
		header["Content-Type"] = typePlain
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		header["Cache-Control"] = noStore
	}
	header["X-Content-Type-Options"] = noSniff
	header["Content-Length"] = []string{strconv.Itoa(len(data))}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// The only error is a client that left, and nobody is there to be told.
		_, _ = w.Write(data)
	}
}

// requestID is what the edge has put on the answer; "" when there is no edge.
func requestID(w http.ResponseWriter) string {
	if ids := w.Header()["X-Request-Id"]; len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// answers holds buffers for rendered answers.
var answers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// recycle gives a buffer back, unless one huge answer has made it a burden.
func recycle(b *[]byte) {
	if cap(*b) <= 1<<20 {
		answers.Put(b)
	}
}
