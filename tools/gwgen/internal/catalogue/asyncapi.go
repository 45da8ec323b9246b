package catalogue

import (
	"fmt"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
	"go.yaml.in/yaml/v3"
)

// AsyncFile is the AsyncAPI document.
const AsyncFile = "asyncapi/jobs.yaml"

// Async is what the AsyncAPI document says.
type Async struct {
	Document *schema.Document
	Messages []*Message
	Commands []*Command
}

// Message is one frame that goes over the channel.
type Message struct {
	Key, Title string
	Type       *schema.Type
	// FromClient and FromServer say who sends it.
	FromClient, FromServer bool
}

// Command is an operation of the catalogue as a command with a correlated answer.
type Command struct {
	Name    string // of the AsyncAPI operation
	ID      string // of the catalogue
	Command *Message
	Answer  *Message
	Failure *Message
}

// Constant gives the value of a constant member, "" when there is none.
func (m *Message) Constant(member string) string {
	if f := m.Type.Field(member); f != nil && f.Type.Const != nil && f.Type.Kind == schema.String {
		return f.Type.Const.Str
	}
	return ""
}

// LoadAsync reads the AsyncAPI document.
func (c *Catalogue) LoadAsync() (*Async, error) {
	d, err := c.Document(AsyncFile)
	if err != nil {
		return nil, err
	}
	a := &Async{Document: d}
	byKey := map[string]*Message{}
	for _, p := range schema.Pairs(schema.Get(d.Root, "components", "messages")) {
		t, err := d.Type(schema.Get(p.Value, "payload"))
		if err != nil {
			return nil, err
		}
		if t.Kind != schema.Object {
			return nil, fmt.Errorf("%s: the payload of %s must be an object with named members", d.Name, p.Key)
		}
		m := &Message{Key: p.Key, Title: schema.Str(p.Value, "title"), Type: t}
		byKey[p.Key] = m
		a.Messages = append(a.Messages, m)
	}
	for _, p := range schema.Pairs(schema.Get(d.Root, "operations")) {
		messages, err := a.messages(byKey, schema.Get(p.Value, "messages"))
		if err != nil {
			return nil, err
		}
		replies, err := a.messages(byKey, schema.Get(p.Value, "reply", "messages"))
		if err != nil {
			return nil, err
		}
		receive := schema.Str(p.Value, "action") == "receive"
		for _, m := range messages {
			m.FromClient = m.FromClient || receive
			m.FromServer = m.FromServer || !receive
		}
		for _, m := range replies {
			m.FromClient = m.FromClient || !receive
			m.FromServer = m.FromServer || receive
		}
		id := schema.Str(p.Value, "x-operation")
		if id == "" {
			continue
		}
		if len(messages) != 1 || len(replies) != 2 {
			return nil, fmt.Errorf("%s: %s must have one message and two replies, the answer and the error", d.Name, p.Key)
		}
		a.Commands = append(a.Commands, &Command{Name: p.Key, ID: id, Command: messages[0], Answer: replies[0], Failure: replies[1]})
	}
	return a, nil
}

func (a *Async) messages(byKey map[string]*Message, n *yaml.Node) (out []*Message, err error) {
	if n == nil {
		return nil, nil
	}
	for _, r := range n.Content {
		ref := schema.Str(r, "$ref")
		target := a.Document.Pointer(ref)
		if target == nil {
			return nil, fmt.Errorf("%s:%d: reference %q names nothing", a.Document.Name, r.Line, ref)
		}
		// A channel's message is a reference to the component.
		if inner := schema.Str(target, "$ref"); inner != "" {
			ref = inner
		}
		m := byKey[ref[strings.LastIndexByte(ref, '/')+1:]]
		if m == nil {
			return nil, fmt.Errorf("%s:%d: reference %q is no message", a.Document.Name, r.Line, ref)
		}
		out = append(out, m)
	}
	return out, nil
}
