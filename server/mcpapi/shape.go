package mcpapi

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// form is what a JSON value of a request's params has to be. Whoever sends another one is told so here, in words that name
// the member: the SDK's would name its Go types, and repeat the request. So a form admits nothing that the SDK cannot read
// (TestFormsAreAsNarrowAsTheSDK).
//
// A null stands for an absent member, and members that a form does not know are passed over.
type form struct {
	kind    string           // a kind of the list below; "" for any value
	members map[string]*form // of an object
	need    []string         // those of them that must be there
	each    *form            // the elements of an array, or all members of an object without names of its own
	check   func(raw json.RawMessage) string
}

// The kinds, as sentences have them.
const (
	anObject  = "an object"
	anArray   = "an array"
	aString   = "a string"
	aNumber   = "a number"
	aBoolean  = "a boolean"
	aToken    = "a string or an integer"
	isMissing = "is required"
)

var (
	text    = &form{kind: aString}
	number  = &form{kind: aNumber}
	boolean = &form{kind: aBoolean}
	token   = &form{kind: aToken}
	object  = &form{kind: anObject}
	texts   = &form{kind: anObject, each: text}

	implementation = &form{kind: anObject, members: map[string]*form{
		"name": text, "title": text, "version": text, "description": text, "websiteUrl": text,
		"icons": {kind: anArray, each: &form{kind: anObject, members: map[string]*form{
			"src": text, "mimeType": text, "theme": text, "sizes": {kind: anArray, each: text}}}},
	}}
	capabilities = &form{kind: anObject, members: map[string]*form{
		"experimental": object, "extensions": object,
		"roots":       {kind: anObject, members: map[string]*form{"listChanged": boolean}},
		"sampling":    {kind: anObject, members: map[string]*form{"context": object, "tools": object}},
		"elicitation": {kind: anObject, members: map[string]*form{"form": object, "url": object}},
	}}
	// metaForm is _meta of any revision, modernMetaForm that of a request of 2026-07-28, which has no handshake.
	metaForm       = &form{kind: anObject, members: map[string]*form{"progressToken": token}}
	modernMetaForm = &form{kind: anObject, need: []string{sdk.MetaKeyProtocolVersion, sdk.MetaKeyClientCapabilities}, members: map[string]*form{
		"progressToken": token, sdk.MetaKeyProtocolVersion: text, sdk.MetaKeyClientInfo: {kind: anObject, members: implementation.members, check: notNull},
		sdk.MetaKeyClientCapabilities: capabilities, sdk.MetaKeyLogLevel: text,
	}}
	// answered are what a client found out between two tries of a call.
	answered = map[string]*form{"requestState": text, "inputResponses": {kind: anObject, check: responses}}
)

// forms are the params of each request and notification, besides _meta. The name of a called tool and its arguments are
// not among them: what is wrong with those, the tool says, or the SDK after its headers.
var forms = map[string]*form{
	"initialize":   {members: map[string]*form{"protocolVersion": text, "capabilities": capabilities, "clientInfo": implementation}},
	"ping":         {},
	methodDiscover: {},
	methodCall:     {members: with(answered, "name", text)},
	methodList:     {members: map[string]*form{"cursor": text}},
	methodListen: {need: []string{"notifications"}, members: map[string]*form{"notifications": {kind: anObject, members: map[string]*form{
		"toolsListChanged": boolean, "promptsListChanged": boolean, "resourcesListChanged": boolean, "resourceSubscriptions": {kind: anArray, each: text}}}}},
	"completion/complete": {need: []string{"ref", "argument"}, members: map[string]*form{
		"argument": {kind: anObject, need: []string{"name", "value"}, members: map[string]*form{"name": text, "value": text}},
		"context":  {kind: anObject, members: map[string]*form{"arguments": texts}},
		"ref": {kind: anObject, need: []string{"type"}, check: reference,
			members: map[string]*form{"type": text, "name": text, "uri": text}},
	}},
	"logging/setLevel":         {need: []string{"level"}, members: map[string]*form{"level": text}},
	"prompts/get":              {need: []string{"name"}, members: with(answered, "name", text, "arguments", texts)},
	"prompts/list":             {members: map[string]*form{"cursor": text}},
	"resources/list":           {members: map[string]*form{"cursor": text}},
	"resources/read":           {need: []string{"uri"}, members: with(answered, "uri", text)},
	"resources/subscribe":      {need: []string{"uri"}, members: map[string]*form{"uri": text}},
	"resources/unsubscribe":    {need: []string{"uri"}, members: map[string]*form{"uri": text}},
	"resources/templates/list": {members: map[string]*form{"cursor": text}},

	"notifications/initialized":        {},
	"notifications/roots/list_changed": {},
	"notifications/cancelled":          {members: map[string]*form{"requestId": token, "reason": text}},
	"notifications/progress": {need: []string{"progressToken", "progress"},
		members: map[string]*form{"progressToken": token, "progress": number, "total": number, "message": text}},
}

// with is a copy of members with more of them, given as names and forms.
func with(members map[string]*form, more ...any) map[string]*form {
	out := map[string]*form{}
	for name, f := range members {
		out[name] = f
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1].(*form)
	}
	return out
}

// removed are the requests that revision 2026-07-28 has given up.
var removed = map[string]bool{"logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true}

// needParams are the requests that cannot do without.
func needParams(method string, f *form) bool {
	return len(f.need) > 0 || method == "initialize" || method == methodCall
}

// said is what is known of a request's revision without looking into it.
type said uint8

const (
	saidOlder  said = iota // its header names an older one, or none
	saidNewest             // its header names 2026-07-28
	saidInside             // there are no headers: _meta says it
)

// misshapen says what is wrong with the form of a request's or notification's params, in words for its sender; "" when
// nothing is.
func misshapen(m *message, data []byte, revision said) string {
	method := string(m.method)
	f := forms[method]
	if f == nil || !m.hasMethod || m.response || m.called() == strings.HasPrefix(method, "notifications/") {
		return ""
	}
	if !m.called() {
		revision = saidOlder // notifications have no revision of their own
	}
	if revision == saidNewest && removed[method] {
		return "" // whatever its params: there is no such method any more
	}
	if m.params.kind != 0 && m.params.kind != 'n' && m.params.kind != '{' {
		return "$.params: must be " + anObject
	}
	if m.params.kind != '{' {
		if needParams(method, f) {
			return "$.params: " + method + " needs params, " + anObject
		}
		if revision == saidNewest {
			return "$.params._meta." + sdk.MetaKeyProtocolVersion + ": " + isMissing
		}
		return ""
	}
	var envelope struct {
		Params map[string]json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return "the message is not a JSON-RPC request"
	}
	if wrong := misshapenMeta(envelope.Params["_meta"], revision); wrong != "" {
		return wrong
	}
	return f.object("$.params", envelope.Params)
}

// misshapenMeta judges _meta.
func misshapenMeta(raw json.RawMessage, revision said) string {
	const at = "$.params._meta"
	if wrong := metaForm.wrong(at, raw); wrong != "" {
		return wrong
	}
	var meta map[string]json.RawMessage
	if !absent(raw) && json.Unmarshal(raw, &meta) != nil {
		return at + ": must be " + anObject
	}
	if version, there := meta[sdk.MetaKeyProtocolVersion]; there {
		// A null is no absence here: the SDK would take it for a revision.
		if version[0] != '"' {
			return at + "." + sdk.MetaKeyProtocolVersion + ": must be " + aString
		}
		var named string
		if revision == saidInside && json.Unmarshal(version, &named) == nil && named == version20260728 {
			revision = saidNewest
		}
	}
	if revision != saidNewest {
		return ""
	}
	return modernMetaForm.object(at, meta)
}

// wrong says what is wrong with a value, which is called at; "" when nothing is.
func (f *form) wrong(at string, raw json.RawMessage) string {
	if absent(raw) {
		if f.check != nil {
			return prefixed(at, f.check(raw))
		}
		return ""
	}
	if !f.fits(raw) {
		return at + ": must be " + f.kind
	}
	switch {
	case f.kind == anObject && (f.members != nil || f.each != nil):
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return at + ": must be " + anObject
		}
		if wrong := f.object(at, members); wrong != "" {
			return wrong
		}
	case f.kind == anArray && f.each != nil:
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return at + ": must be " + anArray
		}
		for _, e := range elements {
			if wrong := f.each.wrong(at+"[]", e); wrong != "" {
				return wrong
			}
		}
	}
	if f.check != nil {
		return prefixed(at, f.check(raw))
	}
	return ""
}

// object judges the members of an object, in the order of their names.
func (f *form) object(at string, members map[string]json.RawMessage) string {
	for _, name := range f.need {
		if absent(members[name]) {
			return at + "." + name + ": " + isMissing
		}
	}
	names := make([]string, 0, len(f.members))
	for name := range f.members {
		if _, there := members[name]; there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if wrong := f.members[name].wrong(at+"."+name, members[name]); wrong != "" {
			return wrong
		}
	}
	if f.each == nil {
		return ""
	}
	for _, value := range members {
		if wrong := f.each.wrong(at+".*", value); wrong != "" { // the names are the sender's own, and may be anything
			return wrong
		}
	}
	return ""
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || raw[0] == 'n' }

// fits compares the kind alone.
func (f *form) fits(raw json.RawMessage) bool {
	c := raw[0]
	digits := c == '-' || c >= '0' && c <= '9'
	switch f.kind {
	case anObject:
		return c == '{'
	case anArray:
		return c == '['
	case aString:
		return c == '"'
	case aBoolean:
		return c == 't' || c == 'f'
	case aNumber:
		return digits && json.Unmarshal(raw, new(float64)) == nil
	case aToken:
		return c == '"' || digits && json.Unmarshal(raw, new(int64)) == nil
	}
	return true
}

func prefixed(at, wrong string) string {
	if wrong == "" {
		return ""
	}
	return at + ": " + wrong
}

// notNull is for the member whose null the SDK does not take for its absence.
func notNull(raw json.RawMessage) string {
	if absent(raw) {
		return "must be " + anObject
	}
	return ""
}

// reference judges what a completion is for.
func reference(raw json.RawMessage) string {
	if !absent(raw) && json.Unmarshal(raw, new(sdk.CompleteReference)) != nil {
		return `type must be "ref/prompt", with a name, or "ref/resource", with a uri`
	}
	return ""
}

// responses judges the answers that come with another try. Each is a result of another method.
func responses(raw json.RawMessage) string {
	if !absent(raw) && json.Unmarshal(raw, new(sdk.InputResponseMap)) != nil {
		return "must hold, for each request, the result of its method"
	}
	return ""
}
