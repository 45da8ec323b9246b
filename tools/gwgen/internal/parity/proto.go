package parity

import (
	"fmt"
	"strings"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/problem"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/schema"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const intOrString = "sawhorse.common.v1.IntOrString"

// connect holds the protobuf sources against the catalogue.
func (k *checker) connect() {
	named := map[string]bool{}
	for _, o := range k.cat.Operations {
		if !o.Connect.Served() {
			continue
		}
		rpc := o.Connect.RPC
		if named[rpc] {
			k.problems.Add(problem.Duplicate, "operations.yaml#"+o.ID, "the procedure %s has a row already", rpc)
		}
		named[rpc] = true
		m := k.pb.Method(rpc)
		if m == nil {
			k.problems.Add(problem.NamesNothing, "operations.yaml#"+o.ID, "connect: the protobuf sources have no procedure %s", rpc)
			continue
		}
		if o.Request == nil || o.Response == nil {
			continue
		}
		source := m.ParentFile().Path()
		k.message(o, source, "$", o.Request, m.Input(), true)
		k.message(o, source, "$", o.Response, m.Output(), false)
	}
	for _, rpc := range k.pb.Methods() {
		if !named[rpc] {
			k.problems.Add(problem.Uncatalogued, "proto#"+rpc, "the procedure has no row in operations.yaml")
		}
	}
}

// message compares an object with its message: the same members at the same depth.
func (k *checker) message(o *catalogue.Operation, source, path string, t *schema.Type, m protoreflect.MessageDescriptor, request bool) {
	at := source + "#" + string(m.Name())
	seen := map[protoreflect.Name]bool{}
	for _, f := range t.Fields {
		name := f.Name
		if f.Type.Kind == schema.Raw || f.Type.Kind == schema.Array && f.Type.Elem.Kind == schema.Raw {
			name += "_json"
		}
		p := path + "." + f.Name
		fd := m.Fields().ByName(protoreflect.Name(name))
		if fd == nil {
			k.differs(o, "connect", at, p, "is missing: the message has no field %s", name)
			continue
		}
		seen[fd.Name()] = true
		if fd.JSONName() != name {
			k.differs(o, "connect", at, p, "is called %q in JSON, not %q: the field needs a json_name", fd.JSONName(), name)
		}
		k.field(o, at, source, p, f, fd, request)
	}
	for i := range m.Fields().Len() {
		if fd := m.Fields().Get(i); !seen[fd.Name()] {
			k.differs(o, "connect", at, path+"."+string(fd.Name()), "does not exist natively")
		}
	}
	for i := range m.Oneofs().Len() {
		if one := m.Oneofs().Get(i); !one.IsSynthetic() {
			k.differs(o, "connect", at, path+"."+string(one.Name()), "is a oneof, which the lowering table does not have here")
		}
	}
}

func (k *checker) field(o *catalogue.Operation, at, source, path string, f *schema.Field, fd protoreflect.FieldDescriptor, request bool) {
	diff := func(format string, args ...any) { k.differs(o, "connect", at, path, format, args...) }
	t := f.Type
	elem := t
	switch t.Kind {
	case schema.Array:
		if !fd.IsList() {
			diff("must be repeated")
			return
		}
		elem = t.Elem
		if !request && (f.Optional() || f.AbsentWhen != "") {
			diff("is a list that may be absent or null, which a repeated field cannot say")
		}
	case schema.Map:
		if !fd.IsMap() {
			diff("must be a map")
			return
		}
		elem, fd = t.Elem, fd.MapValue()
	default:
		if fd.IsList() || fd.IsMap() {
			diff("is repeated, natively %s", t.Kind)
			return
		}
	}
	if want := wantKind(elem); !want.admits(fd) {
		diff("must be %s, it is %s", want, kindWord(fd))
		return
	}
	if elem.Kind == schema.Object {
		if p := path; t.Kind == schema.Array {
			k.message(o, source, p+"[]", elem, fd.Message(), request)
		} else {
			k.message(o, source, p, elem, fd.Message(), request)
		}
	}
	if elem != t || t.Kind == schema.Object || t.Kind == schema.IntOrString {
		return // presence is in the type
	}
	optional := f.Optional() || f.AbsentWhen != ""
	if t.Kind == schema.Raw && t.Admit == schema.AdmitAny && f.Required && f.AbsentWhen == "" {
		optional = false // null is a value like any other, and has its text
	}
	if optional != fd.HasPresence() {
		if optional {
			diff("may be absent or null, so the field must be optional")
		} else {
			diff("is required, so the field must not be optional")
		}
	}
}

type wanted struct {
	words   string
	kinds   []protoreflect.Kind
	message string // full name; "*" for any but the union
}

func (w wanted) String() string { return w.words }

func (w wanted) admits(fd protoreflect.FieldDescriptor) bool {
	for _, k := range w.kinds {
		if fd.Kind() == k {
			if k != protoreflect.MessageKind {
				return true
			}
			name := string(fd.Message().FullName())
			return name == w.message || w.message == "*" && name != intOrString && !strings.HasPrefix(name, "google.protobuf.")
		}
	}
	return false
}

// wantKind is the lowering table.
func wantKind(t *schema.Type) wanted {
	switch t.Kind {
	case schema.String:
		return wanted{words: "string", kinds: []protoreflect.Kind{protoreflect.StringKind}}
	case schema.Int:
		if t.Small() {
			return wanted{words: "int32, by its maximum", kinds: []protoreflect.Kind{protoreflect.Int32Kind}}
		}
		return wanted{words: "int64 or uint64", kinds: []protoreflect.Kind{protoreflect.Int64Kind, protoreflect.Uint64Kind}}
	case schema.Number:
		return wanted{words: "double", kinds: []protoreflect.Kind{protoreflect.DoubleKind}}
	case schema.Bool:
		return wanted{words: "bool", kinds: []protoreflect.Kind{protoreflect.BoolKind}}
	case schema.Raw:
		return wanted{words: "string that holds JSON text", kinds: []protoreflect.Kind{protoreflect.StringKind}}
	case schema.IntOrString:
		return wanted{words: intOrString, kinds: []protoreflect.Kind{protoreflect.MessageKind}, message: intOrString}
	case schema.Object:
		return wanted{words: "a message", kinds: []protoreflect.Kind{protoreflect.MessageKind}, message: "*"}
	}
	return wanted{words: fmt.Sprintf("something that can hold %s", t.Kind)}
}

func kindWord(fd protoreflect.FieldDescriptor) string {
	if fd.Kind() == protoreflect.MessageKind {
		return string(fd.Message().FullName())
	}
	return fd.Kind().String()
}
