// Command gwgen turns spec into gen.
//
//	go run ./tools/gwgen            write gen
//	go run ./tools/gwgen -check     only read the sources and say what is wrong with them
//
// It reads the catalogue, spec/operations.yaml, and every source that it joins, refuses when two of them disagree, and
// then writes what is generated from more than one of them. buf and oapi-codegen write the rest, each from one source.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/catalogue"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/emit"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/parity"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/problem"
	"github.com/sawhorse-dev/sawhorse/tools/gwgen/internal/protosrc"
)

func main() {
	spec := flag.String("spec", "spec", "directory of the sources")
	gen := flag.String("gen", "gen", "directory to write")
	check := flag.Bool("check", false, "only check the sources")
	flag.Parse()
	if err := run(*spec, *gen, *check); err != nil {
		fmt.Fprintf(os.Stderr, "gwgen: %v\n", err)
		os.Exit(1)
	}
}

func run(spec, gen string, check bool) error {
	var problems problem.List
	cat, err := catalogue.Load(spec, &problems)
	if err != nil {
		return err
	}
	pb, err := protosrc.Load(filepath.Join(spec, "proto"), emit.Module+"/gen/pb")
	if err != nil {
		return err
	}
	async, err := cat.LoadAsync()
	if err != nil {
		return err
	}
	parity.Check(cat, pb, async, &problems)
	if !problems.Empty() {
		return fmt.Errorf("the sources are refused:\n%s", problems.String())
	}
	if check {
		return nil
	}
	files := emit.Files{}
	if err := emit.Op(cat, files); err != nil {
		return err
	}
	if err := emit.Connect(cat, pb, files); err != nil {
		return err
	}
	if err := emit.HTTP(cat, files); err != nil {
		return err
	}
	if err := emit.MCP(cat, files); err != nil {
		return err
	}
	if err := emit.WS(cat, async, files); err != nil {
		return err
	}
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
	fmt.Printf("gwgen: %d operations, %d reasons, %d limits; %d files in %s\n", len(cat.Operations), len(cat.Reasons), len(cat.Limits), len(files), gen)
	return nil
}
