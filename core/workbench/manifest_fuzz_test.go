package workbench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/canon"
)

// An envelope that is accepted is the one that its parts make, and its identity
// follows from them; one that is made of any manifest is accepted.
func FuzzRunEnvelope(f *testing.F) {
	for _, manifest := range []string{
		`{}`, `{"model":"viking","steps":[2,1]}`, `{"x":0.9452706955539223}`, `{"x":1e+16,"y":1e-6,"z":-0.0,"n":9007199254740993}`,
		`{"a":"\u0001<>&\u2028\"","\ud83d\ude00":"\uffff"}`, `{"b":1,"a":2}`, `{"a":1,"a":2}`, `{"a":100}`, `[1]`, `{"commit_identity":"x"}`,
	} {
		e := runEnvelope{id: "wb-main", path: "/agents/test/wb/wb-main", seconds: 1700000000, manifest: []byte(manifest), manifestSum: canon.Sum([]byte(manifest))}
		e.identity = commitIdentity(e.id, digestURI(e.content), digestURI(e.manifestSum))
		text := string(e.append(nil))
		f.Add([]byte(text))
		f.Add([]byte(manifest))
		f.Add([]byte(text + "\n"))
		f.Add([]byte(strings.Replace(text, "run_manifest.v1", "run_manifest.v2", 1)))
		f.Add([]byte(strings.Replace(text, "1700000000", "1.7e9", 1)))
		f.Add([]byte(strings.Replace(text, `"schema"`, `"Schema"`, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if e, err := parseRunEnvelope(text); err == nil {
			if !bytes.Equal(e.append(nil), text) || !canon.IsCanonical(text) || e.manifestSum != canon.Sum(e.manifest) ||
				e.identity != commitIdentity(e.id, digestURI(e.content), digestURI(e.manifestSum)) {
				t.Errorf("accepted: %s", text)
			}
		}
		manifest, err := canon.Append(nil, text)
		if err != nil || len(manifest) == 0 || manifest[0] != '{' {
			return
		}
		e := runEnvelope{id: "wb1", path: "/agents/default/wb/wb1", seconds: 1, manifest: manifest, manifestSum: canon.Sum(manifest)}
		e.identity = commitIdentity(e.id, digestURI(e.content), digestURI(e.manifestSum))
		again, err := parseRunEnvelope(e.append(nil))
		if err != nil || !bytes.Equal(again.manifest, manifest) || again.projection() != e.projection() {
			t.Errorf("the envelope of %s: %v", manifest, err)
		}
	})
}
