//go:build ignore

// Command server is the server under test of the public Connect suite: the suite's own service, mounted with the options, the codec, the
// interceptors and the intake of the product's Connect runtime. connect.sh builds it once the suite's messages are generated; no other build looks at it.
//
// The suite starts it, writes one length-prefixed description of the wanted server to its standard input, reads where it listens from its
// standard output, and ends it with SIGTERM.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/protobuf/proto"

	suite "github.com/sawhorse-dev/sawhorse/conformance/suites/connect/testdata/gen/connectrpc/conformance/v1"
	"github.com/sawhorse-dev/sawhorse/conformance/suites/connect/testdata/gen/connectrpc/conformance/v1/conformancev1connect"
	"github.com/sawhorse-dev/sawhorse/server/body"
	"github.com/sawhorse-dev/sawhorse/server/connectapi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	var want suite.ServerCompatRequest
	if err := readMessage(in, &want); err != nil {
		return err
	}
	srv := &http.Server{Handler: mount(int(want.GetMessageReceiveLimit())), Protocols: new(http.Protocols)}
	switch want.GetHttpVersion() {
	case suite.HTTPVersion_HTTP_VERSION_1:
		srv.Protocols.SetHTTP1(true)
	case suite.HTTPVersion_HTTP_VERSION_2:
		srv.Protocols.SetHTTP2(want.GetUseTls())
		srv.Protocols.SetUnencryptedHTTP2(!want.GetUseTls())
	default:
		return fmt.Errorf("no support for %v", want.GetHttpVersion())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	answer := &suite.ServerCompatResponse{Host: "127.0.0.1", Port: uint32(l.Addr().(*net.TCPAddr).Port)}
	serve := func() error { return srv.Serve(l) }
	if want.GetUseTls() {
		if srv.TLSConfig, err = tlsConfig(&want); err != nil {
			return err
		}
		answer.PemCert = want.GetServerCreds().GetCert()
		serve = func() error { return srv.ServeTLS(l, "", "") }
	}
	if err := writeMessage(out, answer); err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		srv.Close()
	}()
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// mount puts the product's intake in front of the unary procedures, as the product does. The suite takes no error for right
// that carries a detail which it did not ask for.
func mount(limit int) http.Handler {
	path, handler := conformancev1connect.NewConformanceServiceHandler(service{}, connectapi.HandlerOptions(limit, connectapi.Plain)...)
	intake := connectapi.NewIntake(body.NewBudget(0), int64(limit), connectapi.Plain)
	unary := map[string]bool{
		conformancev1connect.ConformanceServiceUnaryProcedure:           true,
		conformancev1connect.ConformanceServiceIdempotentUnaryProcedure: true,
		conformancev1connect.ConformanceServiceUnimplementedProcedure:   true,
	}
	mux := http.NewServeMux()
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if unary[r.URL.Path] {
			intake.Serve(w, r, handler)
			return
		}
		handler.ServeHTTP(w, r)
	})
	return mux
}

func tlsConfig(want *suite.ServerCompatRequest) (*tls.Config, error) {
	cert, err := tls.X509KeyPair(want.GetServerCreds().GetCert(), want.GetServerCreds().GetKey())
	if err != nil {
		return nil, err
	}
	c := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if pem := want.GetClientTlsCert(); len(pem) > 0 {
		c.ClientCAs = x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("the client's certificate is no PEM")
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// readMessage reads one message behind its length, 4 bytes big endian.
func readMessage(r io.Reader, m proto.Message) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	raw := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r, raw); err != nil {
		return err
	}
	return proto.Unmarshal(raw, m)
}

func writeMessage(w io.Writer, m proto.Message) error {
	raw, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...))
	return err
}
