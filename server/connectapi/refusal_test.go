package connectapi_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/common/v1"
)

// refusal is an error as it lies on the wire of any of the three protocols.
type refusal struct {
	code    string
	message string
	detail  *commonv1.ErrorDetail // nil when there is not exactly one
}

// refusalOf reads the error of an answer whose body has been read whole.
func refusalOf(t *testing.T, resp *http.Response, answer []byte) refusal {
	t.Helper()
	kind := resp.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "application/grpc") {
		return connectRefusal(t, answer)
	}
	fields := resp.Trailer
	if len(fields["Grpc-Status"]) == 0 {
		fields = resp.Header
	}
	if strings.HasPrefix(kind, "application/grpc-web") && len(fields["Grpc-Status"]) == 0 {
		fields = webTrailer(t, answer)
	}
	n, err := strconv.Atoi(fields.Get("Grpc-Status"))
	if err != nil {
		t.Fatalf("%v %v %q is no answer of gRPC", resp.Header, resp.Trailer, answer)
	}
	message, err := url.PathUnescape(fields.Get("Grpc-Message"))
	if err != nil {
		t.Fatal(err)
	}
	out := refusal{code: connect.Code(n).String(), message: message}
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(fields.Get("Grpc-Status-Details-Bin"), "="))
	if err != nil {
		t.Fatal(err)
	}
	var s status.Status
	if err := proto.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.GetDetails()) == 1 {
		out.detail = &commonv1.ErrorDetail{}
		if err := s.GetDetails()[0].UnmarshalTo(out.detail); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func connectRefusal(t *testing.T, answer []byte) refusal {
	t.Helper()
	var e struct {
		Code, Message string
		Details       []struct{ Type, Value string }
	}
	if err := json.Unmarshal(answer, &e); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	out := refusal{code: e.Code, message: e.Message}
	if len(e.Details) != 1 || e.Details[0].Type != "sawhorse.common.v1.ErrorDetail" {
		return out
	}
	raw, err := base64.RawStdEncoding.DecodeString(e.Details[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	out.detail = &commonv1.ErrorDetail{}
	if err := proto.Unmarshal(raw, out.detail); err != nil {
		t.Fatal(err)
	}
	return out
}

// webTrailer reads the frame at the end of a gRPC-Web answer.
func webTrailer(t *testing.T, answer []byte) http.Header {
	t.Helper()
	for len(answer) >= 5 {
		n := int(answer[1])<<24 | int(answer[2])<<16 | int(answer[3])<<8 | int(answer[4])
		if len(answer) < 5+n {
			break
		}
		if answer[0]&0x80 == 0 {
			answer = answer[5+n:]
			continue
		}
		h := http.Header{}
		for line := range strings.SplitSeq(string(answer[5:5+n]), "\r\n") {
			if name, value, ok := strings.Cut(line, ":"); ok {
				h.Set(name, strings.TrimSpace(value))
			}
		}
		return h
	}
	t.Fatalf("%q has no trailer", answer)
	return nil
}
