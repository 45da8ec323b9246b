package server

import (
	"net/http"

	"github.com/sawhorse-dev/sawhorse/server/mcpapi"
)

// GuardMCP puts the server's own check of Host and Origin in front of an MCP runtime that is not one of its own, such as the fixture that the
// public suite talks to: what the suite then finds out about foreign hosts and pages, it has found out about the server's check. allowedHosts
// are names beside those of this machine.
func GuardMCP(runtime *mcpapi.Runtime, allowedHosts ...string) http.Handler {
	g := newGuard(allowedHosts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.check(r); err != nil {
			mcpapi.Fail(w, err)
			return
		}
		runtime.ServeHTTP(w, r)
	})
}
