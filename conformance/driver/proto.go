package driver

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	// The messages of every service, registered by name.
	_ "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/jobs/v1"
	_ "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/operator/v1"
	_ "github.com/sawhorse-dev/sawhorse/gen/pb/sawhorse/workbench/v1"

	"github.com/sawhorse-dev/sawhorse/conformance/contract"
	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// intOrString is the message that stands for a number or a word.
const intOrString protoreflect.FullName = "sawhorse.common.v1.IntOrString"

// method finds the descriptor of an operation's procedure.
func method(op *contract.Operation) (protoreflect.MethodDescriptor, error) {
	service, name, _ := strings.Cut(op.RPC, "/")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil, err
	}
	s, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no service", service)
	}
	m := s.Methods().ByName(protoreflect.Name(name))
	if m == nil {
		return nil, fmt.Errorf("%s has no method %s", service, name)
	}
	return m, nil
}

func newMessage(d protoreflect.MessageDescriptor) (proto.Message, error) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return nil, err
	}
	return t.New().Interface(), nil
}

// lower gives a neutral value the form of the proto3 JSON mapping. It is lenient: what has no counterpart
// stays as it is, so that bad values can be sent.
func lower(v any, d protoreflect.MessageDescriptor) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(object))
	for name, e := range object {
		field := d.Fields().ByJSONName(name)
		if field == nil {
			if free := d.Fields().ByJSONName(name + "_json"); free != nil && free.Kind() == protoreflect.StringKind {
				// In a predicate, null is an operand, and not the same as none; so is it where the member must be there.
				if e != nil || d.Name() == "Predicate" || !free.HasPresence() {
					out[name+"_json"] = string(value.Encode(e))
				}
				continue
			}
			out[name] = e
			continue
		}
		list, isList := e.([]any)
		if field.IsList() && isList {
			lowered := make([]any, len(list))
			for i := range list {
				lowered[i] = lowerField(list[i], field)
			}
			out[name] = lowered
			continue
		}
		out[name] = lowerField(e, field)
	}
	return out
}

func lowerField(v any, field protoreflect.FieldDescriptor) any {
	if field.Kind() != protoreflect.MessageKind {
		return v
	}
	if field.Message().FullName() == intOrString {
		switch v := v.(type) {
		case value.Number:
			return map[string]any{"integer": string(v)}
		case string:
			return map[string]any{"text": v}
		}
		return v
	}
	return lower(v, field.Message())
}

// lift turns the proto3 JSON mapping of a message back into a neutral value and reports where the text departs
// from that mapping.
func lift(v any, d protoreflect.MessageDescriptor, at string, breach func(format string, args ...any)) any {
	object, ok := v.(map[string]any)
	if !ok {
		breach("%s is no object: %s", at, value.Shorten(v))
		return v
	}
	if d.FullName() == intOrString {
		return liftIntOrString(object, at, breach)
	}
	out := make(map[string]any, len(object))
	for name, e := range object {
		field := d.Fields().ByJSONName(name)
		if field == nil {
			breach("%s has no member %q", d.FullName(), name)
			continue
		}
		where := at + "." + name
		if free, ok := strings.CutSuffix(name, "_json"); ok && field.Kind() == protoreflect.StringKind {
			text, _ := e.(string)
			inner, err := value.Decode([]byte(text))
			if err != nil {
				breach("%s holds no JSON value: %v", where, err)
			}
			out[free] = inner
			continue
		}
		if field.IsList() {
			list, ok := e.([]any)
			if !ok {
				breach("%s is no array", where)
			}
			lifted := make([]any, len(list))
			for i := range list {
				lifted[i] = liftField(list[i], field, fmt.Sprintf("%s[%d]", where, i), breach)
			}
			out[name] = lifted
			continue
		}
		out[name] = liftField(e, field, where, breach)
	}
	fields := d.Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if _, present := object[field.JSONName()]; !present && !field.HasPresence() {
			breach("%s.%s is left out; zero values and empty lists are present", at, field.JSONName())
		}
	}
	return out
}

func liftField(v any, field protoreflect.FieldDescriptor, at string, breach func(string, ...any)) any {
	switch field.Kind() {
	case protoreflect.MessageKind:
		return lift(v, field.Message(), at, breach)
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		text, ok := v.(string)
		if !ok {
			breach("%s is a 64-bit integer and not written as a string: %s", at, value.Shorten(v))
			return v
		}
		return value.Number(text)
	}
	return v
}

func liftIntOrString(object map[string]any, at string, breach func(string, ...any)) any {
	if len(object) == 1 {
		if n, ok := object["integer"].(string); ok {
			return value.Number(n)
		}
		if s, ok := object["text"].(string); ok {
			return s
		}
	}
	breach("%s is neither a number nor a word: %s", at, value.Shorten(object))
	return object
}

// say puts a neutral value into a message. Errors: the encoding has no way to say it.
func say(args any, d protoreflect.MessageDescriptor) (proto.Message, error) {
	m, err := newMessage(d)
	if err != nil {
		return nil, err
	}
	if err := protojson.Unmarshal(value.Encode(lower(args, d)), m); err != nil {
		return nil, ErrInexpressible
	}
	return m, nil
}

// hear turns a message into a neutral value.
func hear(m proto.Message) (any, error) {
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	v, err := value.Decode(text)
	if err != nil {
		return nil, err
	}
	var breach error
	out := lift(v, m.ProtoReflect().Descriptor(), "$", func(format string, args ...any) {
		breach = fmt.Errorf(format, args...)
	})
	return out, breach
}
