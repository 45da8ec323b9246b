package canon

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// What clients compute for themselves: the digest of a manifest, the identity
// over it, and the envelope around it. id, content digest, path and time are
// the same in all rows.
func TestManifestVectors(t *testing.T) {
	const (
		domain = "nokv.workbench.commit_identity.v1"
		schema = "nokv.workbench.run_manifest.v1"
		id     = "wb-main"
		path   = "/agents/test/wb/wb-main"
	)
	content := DigestScheme + strings.Repeat("01", 32)
	for _, c := range []struct {
		manifest, digest, identity, envelope string
		size                                 int
	}{
		{`{"steps":[2,1], "model":"viking"}`, "e21a213898ee65fadcdea40f435729c5c79afe44f7483ab4d5d3baac2a26de28",
			"4ee4c2a33b23f7b094d497d8ce284816b0db8cfebfe2cefb6e28ba8893e06df7", "aaf125bff9d023894bf59a1ad028db3dc9110d01b5e848323efcb1a14afba7e0", 470},
		{`{"task":"ptycho","model":"viking"}`, "23312ff4198ab547af02d6789dc98321be2eb44c088c333a58edd3060ce6c51d",
			"9f3a0a156b426292b0791551b05f6d53f53b906cf7327065b92a04a18b834cff", "dd01f7d8664ac3ee857bd5b59a57aa97eb5d8ec1024f5df73fdc1a1f028d1bf7", 472},
		{"\t{ }\n", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
			"e4be301e0964ac38fba0f321f3321a3367828cadeb0a3f765e290221845193e5", "3e00d6e8573e5682de60313c52078a0fc7968cf431b919d62d0f0d91fc3aff8d", 440},
	} {
		manifest := canonical(t, c.manifest)
		digest := Sum([]byte(manifest)).URI()
		if digest != DigestScheme+c.digest {
			t.Errorf("%s: manifest digest %s", c.manifest, digest)
		}
		sum := NewIdentity(domain).Text(id).Text(content).Text(digest).Sum()
		identity := hex.EncodeToString(sum[:])
		if identity != c.identity {
			t.Errorf("%s: identity %s", c.manifest, identity)
		}
		envelope := canonical(t, `{"workbench_path":"`+path+`","workbench_id":"`+id+`","schema":"`+schema+
			`","manifest_digest_uri":"`+digest+`","manifest":`+c.manifest+`,"content_digest_uri":"`+content+
			`","committed_at_unix_seconds":1700000000,"commit_identity":"`+identity+`"}`)
		if got := Sum([]byte(envelope)); len(envelope) != c.size || hex.EncodeToString(got[:]) != c.envelope {
			t.Errorf("%s: envelope of %d bytes, digest %s", c.manifest, len(envelope), got.URI())
		}
	}
}

func TestProjectionInputVector(t *testing.T) {
	manifest := canonical(t, `{"z":{"b":2,"a":1},"a":[2,1]}`)
	content := DigestScheme + strings.Repeat("11", 32)
	digest := Sum([]byte(manifest)).URI()
	identity := NewIdentity("nokv.workbench.commit_identity.v1").Text("wb-main").Text(content).Text(digest).Sum()
	input := NewIdentity("nokv.workbench.run_manifest.projection_input.v1").
		Text("wb-main").Text("/agents/test/wb/wb-main").Text(content).Text(manifest).Text(digest).Fixed(identity[:]).Sum()
	for _, c := range []struct{ what, got, want string }{
		{"manifest", digest, "3f17d4713da9d7e54dbd2e163000d9880c451a1271888862bbb80bce597be563"},
		{"identity", identity.URI(), "8dd3a58d48ad6af4edb6475494fa23689d2dfa15f2fdb0537f69548b62445343"},
		{"projection input", input.URI(), "cf564a6d52bca52da05f5b47d4b2030cfc347909077415c977a337974e89fe5f"},
	} {
		if c.got != DigestScheme+c.want {
			t.Errorf("%s: got %s, want %s", c.what, c.got, c.want)
		}
	}
}

func TestIdentityKeepsPiecesApart(t *testing.T) {
	sums := map[Digest]string{}
	for what, sum := range map[string]Digest{
		"ab|c":         NewIdentity("d").Text("ab").Text("c").Sum(),
		"a|bc":         NewIdentity("d").Text("a").Text("bc").Sum(),
		"abc":          NewIdentity("d").Text("abc").Sum(),
		"abc|":         NewIdentity("d").Text("abc").Text("").Sum(),
		"other domain": NewIdentity("e").Text("abc").Sum(),
	} {
		if other, twice := sums[sum]; twice {
			t.Errorf("%s and %s have one sum", what, other)
		}
		sums[sum] = what
	}
}

func TestDigestURI(t *testing.T) {
	d := Sum([]byte("Hello world\nSECOND\n"))
	uri := d.URI()
	if uri != "sha256:370dec1c9ba189bbfe2c658485366e2a893b5dda19bc002618fc5445687cc991" {
		t.Errorf("got %s", uri)
	}
	if back, err := ParseDigestURI(uri); err != nil || back != d {
		t.Errorf("round trip: %v, %v", back, err)
	}
	for _, bad := range []string{"", "sha256:", uri[:70], uri + "0", "SHA256" + uri[6:], "sha256:" + strings.ToUpper(uri[7:]),
		"sha512:" + uri[7:], uri[:70] + "g", " " + uri[1:]} {
		if _, err := ParseDigestURI(bad); err != ErrDigestURI {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

func FuzzParseDigestURI(f *testing.F) {
	f.Add(Sum(nil).URI())
	f.Add("sha256:xyz")
	f.Fuzz(func(t *testing.T, uri string) {
		if d, err := ParseDigestURI(uri); err == nil && d.URI() != uri {
			t.Fatalf("%q was read as %s", uri, d.URI())
		}
	})
}

func benchmarkText(members int) []byte {
	var b bytes.Buffer
	b.WriteString(`{`)
	for i := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		name := string(rune('z' - i%26))
		b.WriteString(`"` + strings.Repeat(name, i/26+1) + `":{"weights":[0.1,2.5e-9,100.0,12345],"text":"a \u00e9 line\nwith escapes"}`)
	}
	b.WriteString(`}`)
	return b.Bytes()
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []struct {
		name    string
		members int
	}{{"1member", 1}, {"100members", 100}} {
		b.Run(size.name, func(b *testing.B) {
			src := benchmarkText(size.members)
			var dst []byte
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, err = Append(dst[:0], src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppendWorst is the text that makes the parser move the most bytes:
// every level is out of order around everything inside it.
func BenchmarkAppendWorst(b *testing.B) {
	src := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	for range MaxDepth - 1 {
		src = append(append([]byte(`{"b":`), src...), `,"a":0}`...)
	}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Append(nil, src); err != nil {
			b.Fatal(err)
		}
	}
}

// The short ids that clients derive from a root and a commit.
func TestCommitWorkflowVectors(t *testing.T) {
	root, commit := bytes.Repeat([]byte{1}, 16), bytes.Repeat([]byte{3}, 32)
	for domain, want := range map[string]string{
		"nokv.cli.commit-operation":             "6c69f78792b72f1d86353313a9edc4e4",
		"nokv.cli.commit-manifest-operation.v2": "fc654ed78a4774bcdd44cc7381978188",
		"nokv.cli.commit-manifest-revision.v2":  "d879f0983c8c4549e90b7026bcc52621",
	} {
		sum := NewIdentity(domain).Fixed(root).Bytes(commit).Sum()
		if got := hex.EncodeToString(sum[:16]); got != want {
			t.Errorf("%s: %s, want %s", domain, got, want)
		}
	}
}
