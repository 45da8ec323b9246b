package history

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Call is what a client asks.
type Call struct {
	// Family is the partition that ID and Destination are in (H3).
	Family int
	// Verb is put, replace, append, edit, read, look (all files at one version), head (the run manifest), commit
	// or restore.
	Verb string
	// ID is the workbench; Path a file below its outputs.
	ID, Path string
	// A and B are texts: a body, what is added, what is edited into what, the word in a commit's manifest.
	A, B string
	// Replace is said of a commit.
	Replace bool
	// Destination is where a restore goes, Commit what it restores.
	Destination, Commit string
}

// Answer is what a call was answered with; members that the verb's answer does not have are zero.
type Answer struct {
	// Code is the public word of a refusal, "" of a success.
	Code string
	// Generation is a file's, a commit head's, or that of the file that stands in the way.
	Generation int64
	// Size is that of a file or a manifest; Count how many replacements an edit made.
	Size, Count int64
	// Flag is no_change of an edit, created of an append, idempotent_replay of a commit or restore.
	Flag bool
	// Digest is of a body, or of a commit's envelope.
	Digest string
	// Text is a body, or a rendering of all files.
	Text string
	// Identity and Tree are a commit's.
	Identity, Tree string
	// Operation is the id of a restore.
	Operation string
}

// content is the digest of the content that every commit here claims.
var content = "sha256:" + strings.Repeat("01", 32)

func manifestOf(word string) string { return `{"run":"` + word + `"}` }

// Arguments gives the operation that carries a call, and its arguments as JSON.
func (c Call) Arguments() (operation string, arguments []byte) {
	args := map[string]any{"id": c.ID}
	switch c.Verb {
	case "put", "replace", "append", "edit", "read":
		args["section"], args["path"] = "outputs", c.Path
	}
	switch c.Verb {
	case "put", "replace":
		operation, args["text"], args["replace"] = "put_file", c.A, c.Verb == "replace"
	case "append":
		operation, args["text"] = "append", c.A
	case "edit":
		operation, args["old_string"], args["new_string"], args["replace_all"] = "edit", c.A, c.B, true
	case "read":
		operation = "read"
	case "head":
		operation, args["section"], args["path"] = "read", "metadata", "run_manifest.json"
	case "look":
		operation, args["fields"], args["limit"] = "search", []string{"body_digest_uri", "generation"}, 10
	case "commit":
		operation, args["manifest"], args["content_digest_uri"], args["replace"] = "commit", json.RawMessage(manifestOf(c.A)), content, c.Replace
	case "restore":
		operation, args["destination_id"], args["at_commit"] = "restore", c.Destination, c.Commit
	}
	text, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings, numbers and a manifest of ours
	}
	return "workbench." + operation, text
}

// Answered reads the result of a call that succeeded.
func (c Call) Answered(result []byte) (Answer, error) {
	var r struct {
		Generation     int64  `json:"generation"`
		Size           int64  `json:"size_bytes"`
		Replacements   int64  `json:"replacements"`
		NoChange       bool   `json:"no_change"`
		Created        bool   `json:"created"`
		Replay         bool   `json:"idempotent_replay"`
		Digest         string `json:"digest_uri"`
		Envelope       string `json:"envelope_digest_uri"`
		CommitIdentity string `json:"commit_identity"`
		Tree           string `json:"tree_digest_uri"`
		Operation      string `json:"operation_id"`
		Truncated      bool   `json:"truncated"`
		Items          []struct {
			Value json.RawMessage `json:"value"`
		} `json:"items"`
		Matches []struct {
			Path   string `json:"path"`
			Values struct {
				Digest     string `json:"body_digest_uri"`
				Generation int64  `json:"generation"`
			} `json:"values"`
		} `json:"matches"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return Answer{}, err
	}
	if r.Truncated {
		return Answer{}, fmt.Errorf("%s of %s: the answer is cut short", c.Verb, c.ID)
	}
	switch c.Verb {
	case "put", "replace":
		return Answer{Generation: r.Generation, Size: r.Size, Digest: r.Digest}, nil
	case "append":
		return Answer{Generation: r.Generation, Size: r.Size, Flag: r.Created}, nil
	case "edit":
		return Answer{Generation: r.Generation, Size: r.Size, Count: r.Replacements, Flag: r.NoChange}, nil
	case "commit":
		return Answer{Generation: r.Generation, Size: r.Size, Digest: r.Envelope, Identity: r.CommitIdentity, Tree: r.Tree, Flag: r.Replay}, nil
	case "restore":
		return Answer{Operation: r.Operation, Flag: r.Replay}, nil
	case "look":
		a := Answer{}
		for _, m := range r.Matches {
			_, path, _ := strings.Cut(m.Path, "/"+c.ID+"/")
			a.Text += fmt.Sprintf("%s %d %s\n", path, m.Values.Generation, m.Values.Digest)
		}
		return a, nil
	}
	a := Answer{Generation: r.Generation}
	if len(r.Items) > 1 {
		return a, fmt.Errorf("%s of %s: %d items", c.Verb, c.ID, len(r.Items))
	}
	for _, item := range r.Items {
		if c.Verb == "read" {
			return a, json.Unmarshal(item.Value, &a.Text)
		}
		var e struct {
			Identity string `json:"commit_identity"`
		}
		err := json.Unmarshal(item.Value, &e)
		a.Identity = e.Identity
		return a, err
	}
	return a, nil
}

// Refused reads a refusal: its public word, and its details as JSON.
func (c Call) Refused(code string, details []byte) (Answer, error) {
	a := Answer{Code: code}
	if c.Verb != "put" {
		return a, nil
	}
	var d struct {
		Generation int64  `json:"generation"`
		Digest     string `json:"digest_uri"`
	}
	err := json.Unmarshal(details, &d)
	a.Generation, a.Digest = d.Generation, d.Digest
	return a, err
}
