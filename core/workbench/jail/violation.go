package jail

// Kind says which rule an argument broke, coarsely enough to choose a public
// reason by it.
type Kind uint8

// The kinds of violation.
const (
	BadID      Kind = iota + 1 // the workbench id
	BadPath                    // a section or a path
	ReservedAt                 // a manifest that only the server writes
)

// Violation is the error of every parsing function here. Its text is public:
// it names the member and the rule, and repeats nothing of the host.
type Violation struct {
	Kind   Kind
	Member string // "$.path"
	Rule   string // what must hold, as a sentence part
}

// Error is the public sentence.
func (v *Violation) Error() string { return v.Member + ": " + v.Rule }

func badPath(member, rule string) *Violation {
	return &Violation{Kind: BadPath, Member: member, Rule: rule}
}
