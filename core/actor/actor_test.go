package actor_test

import (
	"context"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/actor"
)

func TestPrincipalTravelsWithTheContext(t *testing.T) {
	if _, ok := actor.From(context.Background()); ok {
		t.Fatal("a bare context claims to carry a principal")
	}
	outer := actor.Principal{Tenant: [16]byte{1}, User: "1", Roles: []string{"owner"}}
	ctx := actor.With(context.Background(), outer)
	got, ok := actor.From(ctx)
	if !ok || got.User != "1" || got.Tenant != outer.Tenant || len(got.Roles) != 1 {
		t.Fatalf("From = %+v, %v", got, ok)
	}
	inner, _ := actor.From(actor.With(ctx, actor.Principal{User: "2"}))
	if inner.User != "2" || inner.Roles != nil {
		t.Fatalf("the inner principal was merged with the outer one: %+v", inner)
	}
	got.User = "changed"
	if again, _ := actor.From(ctx); again.User != "1" {
		t.Fatal("ACT-2: a caller's copy changed the principal of the context")
	}
}
