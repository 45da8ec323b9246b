package emit

import (
	"strconv"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/gocode"
)

// WS writes gen/ws, the frames of the WebSocket, and gen/bind/ws, the commands behind them.
func WS(c *catalogue.Catalogue, a *catalogue.Async, out Files) error {
	for _, name := range []string{"scan.go", "free.go", "append.go", "paths.go", "check.go", "kinds.go"} {
		if err := copyFile("op", name, "ws", "ws", out); err != nil {
			return err
		}
	}
	if err := copyTemplate("ws", "ws", out); err != nil {
		return err
	}
	if err := copyTemplate("bindws", "bind/ws", out); err != nil {
		return err
	}
	commands := map[*catalogue.Message]bool{}
	for _, cmd := range a.Commands {
		commands[cmd.Command], commands[cmd.Answer] = true, true
	}
	types := &goTypes{byName: map[string]*goStruct{}}
	g := &opGen{cat: c, types: types, out: out}
	var frames []*goStruct
	for _, m := range a.Messages {
		if commands[m] {
			continue
		}
		s := &goStruct{Name: gocode.Exported(m.Key), Type: m.Type, Doc: m.Type.Doc}
		types.byName[s.Name] = s
		if err := types.fill(s, [2]string{"", s.Name}, 0); err != nil {
			return err
		}
		frames = append(frames, s)
	}
	f := &gocode.File{Package: "ws", From: "spec/" + catalogue.AsyncFile}
	for _, s := range append(frames, types.Shared...) {
		g.structs(f, s)
	}
	for _, s := range frames {
		f.P("// Decode%s reads the frame strictly.\nfunc Decode%s(b []byte) (*%s, *Invalid) {\n	s := scanner{b: b}\n	v := new(%s)\n	v.decode(&s)\n	s.end()\n	if s.err != nil {\n		return nil, s.err\n	}\n	if inv := v.validate(false); inv != nil {\n		return nil, inv\n	}\n	return v, nil\n}\n", s.Name, s.Name, s.Name, s.Name)
	}
	if err := out.Go("ws/frames.go", f); err != nil {
		return err
	}
	t := &gocode.File{Package: "bindws", From: "spec/" + catalogue.AsyncFile}
	t.Import(Module + "/gen/op")
	t.P("// commandOf finds the operation of a command.\nfunc commandOf(name []byte) *op.Descriptor {\n	switch string(name) {")
	for _, cmd := range a.Commands {
		for _, o := range c.Operations {
			if o.ID == cmd.ID {
				t.P("	case %q:\n		return op.%sOp", cmd.Command.Constant("command"), opName(o))
			}
		}
	}
	t.P("	}\n	return nil\n}\n")
	t.P("// plainOf reads a frame that is no call, by its command or its type.\nfunc plainOf(command, kind []byte, b []byte) (Frame, *op.Invalid, bool) {")
	for _, tag := range []string{"command", "type"} {
		v := map[string]string{"command": "command", "type": "kind"}[tag]
		t.P("	switch string(%s) {", v)
		for _, m := range a.Messages {
			if m.FromClient && !commands[m] && m.Constant(tag) != "" {
				t.Import(Module + "/gen/ws")
				t.P("	case %s:\n		f, inv := ws.Decode%s(b)\n		return f, inv, true", strconv.Quote(m.Constant(tag)), gocode.Exported(m.Key))
			}
		}
		t.P("	}")
	}
	t.P("	return nil, nil, false\n}")
	return out.Go("bind/ws/table.go", t)
}
