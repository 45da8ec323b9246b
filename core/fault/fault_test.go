package fault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

func TestTheCauseStaysPrivate(t *testing.T) {
	secret := errors.New("/srv/secret is gone")
	err := fault.New(op.ReasonUnavailable, "").Because(secret).With("attempts", 3)
	if strings.Contains(err.Error(), "secret") || strings.Contains(err.Message, "secret") {
		t.Fatalf("FLT-1: the cause leaked: %q", err.Error())
	}
	if !errors.Is(err, secret) {
		t.Fatal("the cause is not reachable for the log")
	}
	if err.Message != op.ReasonUnavailable.Face().Text {
		t.Fatalf("message %q is not the registry's", err.Message)
	}
	if v, ok := err.Detail("attempts"); !ok || v != int64(3) {
		t.Fatalf("detail = %v, %v", v, ok)
	}
	if _, ok := err.Detail("other"); ok {
		t.Fatal("a detail that was never added")
	}
}

func TestFromGivesEveryErrorAReason(t *testing.T) {
	own := fault.New(op.ReasonUnimplemented, "not here")
	for _, c := range []struct {
		err  error
		want op.Reason
	}{
		{own, op.ReasonUnimplemented},
		{fmt.Errorf("wrapped: %w", own), op.ReasonUnimplemented},
		{context.Canceled, op.ReasonCancelled},
		{fmt.Errorf("waiting: %w", context.DeadlineExceeded), op.ReasonDeadlineExceeded},
		{errors.New("anything"), op.ReasonInternal},
	} {
		got := fault.From(c.err)
		if got.Reason != c.want {
			t.Errorf("From(%v) has reason %s, want %s", c.err, got.Reason, c.want)
		}
		if !fault.Is(got, c.want) {
			t.Errorf("Is(%v, %s) is false", got, c.want)
		}
	}
	if fault.From(nil) != nil {
		t.Error("From(nil) is an error")
	}
	if internal := fault.From(errors.New("token=abc")); strings.Contains(internal.Error(), "abc") {
		t.Errorf("FLT-2: %q tells what stayed private", internal.Error())
	}
	if fault.Is(errors.New("x"), op.ReasonInternal) {
		t.Error("an error without a reason claims one")
	}
}

func TestADetailOfAnotherKindIsAMistake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("FLT-3: a float was accepted")
		}
	}()
	fault.New(op.ReasonInternal, "").With("ratio", 0.5)
}
