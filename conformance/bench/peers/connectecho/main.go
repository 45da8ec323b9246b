// Command connectecho is a bare unary echo on connect-go: POST /bench.Echo/Echo with a message of one string member.
package main

import (
	"context"
	"log"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/sourcecontextpb"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/peers"
)

// procedure carries SourceContext, a message that protobuf ships with one string member, so that the peer needs no code generation.
const procedure = "/bench.Echo/Echo"

func main() {
	mux := http.NewServeMux()
	mux.Handle(procedure, connect.NewUnaryHandlerSimple(procedure,
		func(_ context.Context, in *sourcecontextpb.SourceContext) (*sourcecontextpb.SourceContext, error) {
			return &sourcecontextpb.SourceContext{FileName: in.GetFileName()}, nil
		}))
	if err := peers.Serve(mux); err != nil {
		log.Fatal(err)
	}
}
