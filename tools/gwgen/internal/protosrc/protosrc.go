// Package protosrc reads the protobuf sources. It compiles them with protocompile, a library, so that checking the
// sources needs no tool.
package protosrc

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Source holds the compiled files.
type Source struct {
	Files []protoreflect.FileDescriptor
	// Module is the Go import path of gen/pb.
	Module string
}

// Load compiles every .proto below dir. A directory without any gives an empty source.
func Load(dir, module string) (*Source, error) {
	var names []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".proto" {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the protobuf sources cannot be read: %w", err)
	}
	slices.Sort(names)
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}})}
	files, err := c.Compile(context.Background(), names...)
	if err != nil {
		return nil, fmt.Errorf("the protobuf sources do not compile: %s", strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
	}
	s := &Source{Module: module}
	for _, f := range files {
		s.Files = append(s.Files, f)
	}
	return s, nil
}

// Method finds a procedure by PACKAGE.SERVICE/RPC.
func (s *Source) Method(rpc string) protoreflect.MethodDescriptor {
	service, name, _ := strings.Cut(rpc, "/")
	for _, f := range s.Files {
		for i := range f.Services().Len() {
			sv := f.Services().Get(i)
			if string(sv.FullName()) == service {
				return sv.Methods().ByName(protoreflect.Name(name))
			}
		}
	}
	return nil
}

// Methods lists every procedure as PACKAGE.SERVICE/RPC.
func (s *Source) Methods() (out []string) {
	for _, f := range s.Files {
		for i := range f.Services().Len() {
			sv := f.Services().Get(i)
			for k := range sv.Methods().Len() {
				out = append(out, string(sv.FullName())+"/"+string(sv.Methods().Get(k).Name()))
			}
		}
	}
	return out
}

// GoPackage gives the import path and the name of a file's Go package, as buf's managed mode makes them.
func (s *Source) GoPackage(f protoreflect.FileDescriptor) (path, name string) {
	dir := filepath.ToSlash(filepath.Dir(f.Path()))
	parts := strings.Split(dir, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9' {
		last = parts[len(parts)-2] + last
	}
	return s.Module + "/" + dir, last
}

// GoName is protoc-gen-go's name for a message or field.
func GoName(name protoreflect.Name) string {
	// The rule of protoc-gen-go: an underscore before a lower-case letter is dropped and the letter raised.
	var b []byte
	s := string(name)
	for i := 0; i < len(s); i++ {
		c := s[i]
		lower := func(k int) bool { return k < len(s) && s[k] >= 'a' && s[k] <= 'z' }
		switch {
		case c == '.' && lower(i+1):
		case c == '.':
			b = append(b, '_')
		case c == '_' && (i == 0 || s[i-1] == '.'):
			b = append(b, 'X')
		case c == '_' && lower(i+1):
		case c >= '0' && c <= '9':
			b = append(b, c)
		default:
			if c >= 'a' && c <= 'z' {
				c -= 'a' - 'A'
			}
			b = append(b, c)
			for ; lower(i + 1); i++ {
				b = append(b, s[i+1])
			}
		}
	}
	return string(b)
}
