package actor

import "context"

// Principal is who calls. A call that arrives over loopback without
// credentials gets the tenant minted with the data directory and user "1".
//
// The slices are shared by every reader of the context; nobody writes to them.
type Principal struct {
	// Tenant is a UUID in its 16-byte form.
	Tenant [16]byte
	// User is the caller's name inside the tenant.
	User string
	// Workspaces are the workspaces that the caller may touch; nil means all.
	Workspaces []string
	// Roles are the caller's roles inside the tenant.
	Roles []string
}

type contextKey struct{}

// With returns a context that carries p. A principal put there earlier is
// hidden, not merged.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, &p)
}

// From returns the principal that the context carries, and whether there is one.
func From(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(contextKey{}).(*Principal)
	if !ok {
		return Principal{}, false
	}
	return *p, true
}
