// Command gwgen turns spec into gen.
//
//	go run ./tools/gwgen generate   check the sources, then write all of gen: buf, oapi-codegen and gwgen itself
//	go run ./tools/gwgen emit       only what gwgen writes itself
//	go run ./tools/gwgen check      only read the sources and say what is wrong with them
//
// It reads the catalogue, spec/operations.yaml, and every source that it joins, and refuses when two of them disagree.
// What comes from more than one source it writes itself; buf and oapi-codegen write the rest, each from one source, at
// the versions that tools/buf and tools/plugins pin. BUF names another buf of the same version, such as npm's.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/emit"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/parity"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/problem"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/protosrc"
)

const usage = "usage: gwgen [-C directory] generate | emit | check"

func main() {
	root := flag.String("C", ".", "directory that holds spec and gen")
	flag.Usage = func() { fmt.Fprintln(os.Stderr, usage) }
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*root, flag.Arg(0)); err != nil {
		fmt.Fprintf(os.Stderr, "gwgen: %v\n", err)
		os.Exit(1)
	}
}

func run(root, command string) error {
	src, err := load(filepath.Join(root, "spec"))
	if err != nil {
		return err
	}
	switch command {
	case "check":
		fmt.Printf("gwgen: the sources agree: %s\n", src)
		return nil
	case "generate":
		if err := others(root); err != nil {
			return err
		}
	case "emit":
	default:
		return fmt.Errorf("there is no command %q; %s", command, usage)
	}
	files, err := src.emit()
	if err != nil {
		return err
	}
	gen := filepath.Join(root, "gen")
	for name, b := range files {
		path := filepath.Join(gen, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
	if err := emit.Sweep(gen, files); err != nil {
		return err
	}
	fmt.Printf("gwgen: %d files in gen, from %s\n", len(files), src)
	return nil
}

// sources is everything that gen is made from.
type sources struct {
	cat   *catalogue.Catalogue
	pb    *protosrc.Source
	async *catalogue.Async
}

func (s *sources) String() string {
	return fmt.Sprintf("%d operations, %d procedures, %d frames, %d reasons, %d limits",
		len(s.cat.Operations), len(s.pb.Methods()), len(s.async.Messages), len(s.cat.Reasons), len(s.cat.Limits))
}

// refusal says what is wrong with the sources, one problem a line.
type refusal struct{ problems problem.List }

func (r *refusal) Error() string { return "the sources are refused:\n" + r.problems.String() }

// load reads the sources below a directory and holds them against each other.
func load(spec string) (*sources, error) {
	var r refusal
	cat, err := catalogue.Load(spec, &r.problems)
	if err != nil {
		return nil, err
	}
	pb, err := protosrc.Load(filepath.Join(spec, "proto"), emit.Module+"/gen/pb")
	if err != nil {
		return nil, err
	}
	async, err := cat.LoadAsync()
	if err != nil {
		return nil, err
	}
	parity.Check(cat, pb, async, &r.problems)
	if !r.problems.Empty() {
		return nil, &r
	}
	return &sources{cat, pb, async}, nil
}

func (s *sources) emit() (emit.Files, error) {
	files := emit.Files{}
	for _, step := range []func() error{
		func() error { return emit.Op(s.cat, files) },
		func() error { return emit.Connect(s.cat, s.pb, files) },
		func() error { return emit.HTTP(s.cat, files) },
		func() error { return emit.MCP(s.cat, files) },
		func() error { return emit.WS(s.cat, s.async, files) },
		func() error { return emit.Docs(files) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// others runs the generators that others wrote.
func others(root string) error {
	buf := strings.Fields(os.Getenv("BUF"))
	if len(buf) == 0 {
		// Compiling buf takes minutes when the build cache is empty.
		buf = []string{"go", "tool", "-modfile=tools/buf/go.mod", "buf"}
	}
	if err := tool(root, append(buf, "generate")...); err != nil {
		return err
	}
	configs, err := filepath.Glob(filepath.Join(root, "spec/openapi/oapi-codegen-*.yaml"))
	if err != nil {
		return err
	}
	for _, c := range configs {
		area := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(c), "oapi-codegen-"), ".yaml")
		if err := os.MkdirAll(filepath.Join(root, "gen/http", area), 0o755); err != nil {
			return err
		}
		if err := tool(root, "go", "tool", "-modfile=tools/plugins/go.mod", "oapi-codegen", "-config", "spec/openapi/"+filepath.Base(c), "spec/openapi/"+area+".yaml"); err != nil {
			return err
		}
	}
	return nil
}

func tool(root string, command ...string) error {
	start := time.Now()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
	}
	fmt.Printf("gwgen: %s (%.1fs)\n", strings.Join(command, " "), time.Since(start).Seconds())
	return nil
}
