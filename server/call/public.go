package call

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sawhorse-dev/sawhorse/core/fault"
	"github.com/sawhorse-dev/sawhorse/gen/op"
)

// Public is what of an error may leave the process.
type Public struct {
	Reason op.Reason
	// Code is the area's public word for the reason.
	Code      string
	Message   string
	Retryable bool
	// Details is a JSON object, members sorted by name; "{}" when there are none.
	Details    []byte
	HTTPStatus int
	// Connect is the Connect code, "not_found".
	Connect string
}

// Remote is an error that another Sawhorse server has already put into public words. It is passed on as it came.
type Remote struct {
	Public Public
}

// Error implements error.
func (r *Remote) Error() string { return r.Public.Code + ": " + r.Public.Message }

// Unwrap gives the error a reason for those who ask for one.
func (r *Remote) Unwrap() error { return fault.New(r.Public.Reason, r.Public.Message) }

// PublicOf is what may leave of err, in the words of d's area.
func PublicOf(d *op.Descriptor, err error) Public { return PublicIn(d.Area, err) }

// PublicIn is PublicOf where no operation is known yet, only the area of the path.
//
// The message is the error's own one, valid UTF-8 and at most op.LimitMaxErrorMessageBytes long. Details that the
// registry does not list for the reason stay inside (invariant 3).
func PublicIn(area op.Area, err error) Public {
	if r, ok := err.(*Remote); ok {
		return r.Public
	}
	e := fault.From(err)
	reason := e.Reason
	message := e.Message
	if !reason.Known() {
		reason, message = op.ReasonInternal, ""
	}
	face := reason.Face()
	if reason == op.ReasonInternal || message == "" {
		message = face.Text
	}
	code := face.Code[area]
	if code == "" {
		// A reason of another area: a mistake inside, which is nobody's business outside.
		reason = op.ReasonInternal
		face = reason.Face()
		code, message = face.Code[area], face.Text
	}
	return Public{
		Reason: reason, Code: code, Message: bounded(message), Retryable: face.Retryable,
		Details: appendDetails(nil, face.Details, e.Details), HTTPStatus: face.HTTPStatus, Connect: face.Connect,
	}
}

// bounded cuts a message to the size that the contract allows, at a character's edge.
func bounded(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	const most = int(op.LimitMaxErrorMessageBytes)
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

func appendDetails(dst []byte, allowed []op.DetailMember, details []fault.Detail) []byte {
	if len(details) == 0 || len(allowed) == 0 {
		return append(dst, '{', '}')
	}
	sorted := slices.Clone(details)
	slices.SortStableFunc(sorted, func(a, b fault.Detail) int { return cmp.Compare(a.Key, b.Key) })
	dst = append(dst, '{')
	first := true
	for i, detail := range sorted {
		if i+1 < len(sorted) && sorted[i+1].Key == detail.Key {
			continue // the last one set counts
		}
		at := slices.IndexFunc(allowed, func(m op.DetailMember) bool { return m.Name == detail.Key })
		if at < 0 || !fits(allowed[at], detail.Value) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendText(dst, detail.Key), ':')
		dst = appendValue(dst, detail.Value)
	}
	return append(dst, '}')
}

// fits reports whether a value is of the kind that the registry promises.
func fits(m op.DetailMember, value any) bool {
	switch value.(type) {
	case nil:
		return m.Optional
	case string:
		return m.Kind == "string"
	case int64:
		return m.Kind == "integer"
	case bool:
		return m.Kind == "boolean"
	}
	return false
}

func appendValue(dst []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendText(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case bool:
		return strconv.AppendBool(dst, v)
	}
	return append(dst, "null"...)
}

// appendText appends s as a JSON string.
func appendText(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		// Invalid UTF-8 is the only error there is; repaired text has none.
		out, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return out
}

// AppendError appends the error envelope of an area: five keys for the Workbench (and storage), code, detail, message
// and retryable for jobs, ok, generated_at and error for the operator. Members are sorted by name.
func AppendError(dst []byte, area op.Area, p Public, now time.Time) []byte {
	switch area {
	case op.AreaOperator:
		dst = appendText(append(dst, `{"error":{"code":`...), p.Code)
		dst = appendText(append(dst, `,"message":`...), p.Message)
		dst = now.UTC().AppendFormat(append(dst, `},"generated_at":"`...), time.RFC3339)
		return append(dst, `","ok":false}`...)
	case op.AreaJobs:
		dst = appendText(append(dst, `{"code":`...), p.Code)
		dst = appendText(append(dst, `,"detail":`...), p.Message)
		dst = appendText(append(dst, `,"message":`...), p.Message)
		dst = strconv.AppendBool(append(dst, `,"retryable":`...), p.Retryable)
		return append(dst, '}')
	default:
		dst = appendText(append(dst, `{"code":`...), p.Code)
		dst = append(append(dst, `,"details":`...), p.Details...)
		dst = appendText(append(dst, `,"message":`...), p.Message)
		dst = strconv.AppendBool(append(dst, `,"retryable":`...), p.Retryable)
		return append(dst, `,"status":"error"}`...)
	}
}
