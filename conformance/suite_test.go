package conformance

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/driver"
)

var (
	only      = flag.String("scenarios", "", "play only these scenarios: patterns of ids, separated by commas")
	protocols = flag.String("protocols", "", "play only these protocols, separated by commas")
)

func listed(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// TestSuite plays everything in every mode against a server in memory. The matrix is printed with -v, failures always.
func TestSuite(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), untilDone)
	defer cancel()
	options := Options{Scenarios: listed(*only), Parallel: 2}
	for _, p := range listed(*protocols) {
		options.Protocols = append(options.Protocols, driver.Protocol(p))
	}
	began := time.Now()
	report, err := Run(ctx, inMemory(breakage{}), options)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := report.WriteMatrix(&b); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d results in %v\n%s", len(report.Results), time.Since(began).Round(time.Millisecond), b.String())
	if !report.OK() {
		t.Fail()
	}
}
