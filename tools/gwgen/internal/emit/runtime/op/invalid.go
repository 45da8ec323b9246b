package op

// Invalid says why a document was refused: which member, by which rule, in words that a caller may read.
// It never quotes the document beyond a shortened member name.
type Invalid struct {
	// Member is the path of the member at fault, "$" for the document itself, "$.predicates[2].op" inside.
	Member string
	// Rule is one word: unknown, duplicate, missing, type, enum, const, minimum, maximum, minLength, maxLength,
	// minItems, maxItems, maxProperties, pattern, oneOf, syntax, utf8, depth or trailing.
	Rule string
	// Text is the public sentence. It begins with Member.
	Text string
}

// Error gives the public sentence.
func (e *Invalid) Error() string { return e.Text }
