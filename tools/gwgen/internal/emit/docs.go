package emit

import _ "embed"

//go:embed docs/README.md
var readme []byte

// Docs writes the page that explains gen.
func Docs(out Files) error {
	out["README.md"] = append([]byte("<!-- Written by gwgen from tools/gwgen/internal/emit/docs/README.md. -->\n\n"), readme...)
	return nil
}
