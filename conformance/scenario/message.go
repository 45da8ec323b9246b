package scenario

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

var requestLine = regexp.MustCompile(`^(GET|HEAD|PUT|POST|DELETE|PATCH|OPTIONS) (\S+)$`)

// message reads what is sent raw:
//
//	PUT /v1/workbenches/wb1/files/outputs/a.bin      (HTTP only)
//	Content-Type: application/octet-stream
//	:body hex                                        (directives begin with a colon)
//
//	00 ff
func (p *parser) message(sec section, http bool) *Message {
	m := &Message{Line: sec.line}
	lines, start := strings.SplitAfter(sec.body, "\n"), 0
	if http {
		first := strings.TrimSpace(lines[0])
		start = 1
		if r := requestLine.FindStringSubmatch(first); r != nil {
			m.Method, m.Path = r[1], p.template(sec.line+1, r[2])
		} else {
			p.refuse(sec.line+1, "%q is not METHOD /path", first)
		}
	}
	p.head(m, sec, lines, start, http, false)
	return m
}

// reply reads what is expected raw:
//
//	201
//	ETag: "1"
//	!Location
//
//	{"generation": 1, "...": "$any"}
func (p *parser) reply(sec section, http bool) *Message {
	m := &Message{Line: sec.line}
	lines, start := strings.SplitAfter(sec.body, "\n"), 0
	if http {
		first := strings.TrimSpace(lines[0])
		start = 1
		status, err := strconv.Atoi(first)
		if err != nil || status < 100 || status > 599 {
			p.refuse(sec.line+1, "%q is not an HTTP status", first)
		}
		m.Status = status
	}
	p.head(m, sec, lines, start, http, true)
	return m
}

var headerName = regexp.MustCompile(`^!?[A-Za-z][A-Za-z0-9-]*$`)

// head reads headers and directives, then the body.
func (p *parser) head(m *Message, sec section, lines []string, start int, http, isReply bool) {
	i := start
	for ; i < len(lines); i++ {
		at := sec.line + 1 + i
		text := strings.TrimSpace(lines[i])
		if text == "" {
			i++
			break
		}
		if word, ok := strings.CutPrefix(text, ":"); ok {
			p.directive(m, at, word, isReply)
			continue
		}
		if !http {
			break // a frame has no headers: this is the body
		}
		name, val, _ := strings.Cut(text, ":")
		if !headerName.MatchString(name) {
			p.refuse(at, "%q is neither a header nor a directive", text)
			continue
		}
		h := Header{Name: strings.TrimPrefix(name, "!"), Absent: name[0] == '!'}
		if h.Absent && !isReply {
			p.refuse(at, "only a reply can say that a header is absent")
		}
		h.Value = p.pattern(at, strings.TrimSpace(val))
		if !isReply {
			h.Value = p.template(at, strings.TrimSpace(val))
		}
		m.Headers = append(m.Headers, h)
	}
	body := strings.TrimSuffix(strings.Join(lines[min(i, len(lines)):], ""), "\n")
	p.body(m, sec, body, isReply)
}

func (p *parser) directive(m *Message, line int, text string, isReply bool) {
	word, arg, _ := strings.Cut(text, " ")
	switch {
	case word == "body" && m.Kind == BodyNone:
		m.Kind = BodyKind(arg)
		switch m.Kind {
		case BodyText, BodyHex, BodyBase64, BodyJSON:
			return
		case BodyEmpty, BodyDigest:
			if isReply {
				return
			}
		}
		p.refuse(line, "no body of kind %q here", arg)
	case word == "chunked" && !isReply && arg == "":
		m.Chunked = true
	case word == "cut" && !isReply && arg == "":
		m.Cut = true
	case word == "declare" && !isReply:
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || n <= 0 {
			p.refuse(line, "declare takes a length in bytes")
		}
		m.Declare = n
	case word == "binary" && arg == "":
		m.Binary = true
	case word == "frame-text" && arg == "":
		m.Text = true
	default:
		p.refuse(line, "no directive :%s here", text)
	}
}

func (p *parser) body(m *Message, sec section, body string, isReply bool) {
	if m.Kind == BodyNone {
		switch trimmed := strings.TrimSpace(body); {
		case trimmed == "":
			return
		case isReply && (trimmed[0] == '{' || trimmed[0] == '['):
			m.Kind = BodyJSON
		default:
			m.Kind = BodyText
		}
	}
	switch m.Kind {
	case BodyEmpty:
		if body != "" {
			p.refuse(sec.line, "an empty body has no text")
		}
	case BodyJSON:
		v, err := value.Decode([]byte(body))
		if err != nil {
			p.refuse(sec.line, "not a JSON value: %v", err)
			return
		}
		if isReply {
			m.Pattern = p.pattern(sec.line, v)
			return
		}
		args, err := value.CompileArguments(v)
		if err != nil {
			p.refuse(sec.line, "%v", err)
		}
		m.Pattern = args
	case BodyHex, BodyBase64:
		m.Body = p.template(sec.line, strings.Join(strings.Fields(body), ""))
	case BodyDigest:
		m.Body = p.template(sec.line, strings.TrimSpace(body))
	case BodyText:
		m.Body = p.template(sec.line, body)
	}
}

// closing reads the body of close: nothing when the client closes, "code N" when the server must have.
func (p *parser) closing(sec section) *Message {
	m := &Message{Line: sec.line}
	text := strings.TrimSpace(sec.body)
	if text == "" {
		return m
	}
	digits, ok := strings.CutPrefix(text, "code ")
	code, err := strconv.Atoi(digits)
	if !ok || err != nil || code < 1000 || code > 4999 {
		p.refuse(sec.line, "the body of close is empty or of the form code 1009")
	}
	m.Code = code
	return m
}
