package jail

// Section is one of the five standard sections of a workbench, or none.
type Section uint8

// The sections in their declared order. The zero value means "no section".
const (
	NoSection Section = iota
	Input
	Scripts
	Outputs
	Logs
	Metadata
)

var sectionNames = [...]string{"", "input", "scripts", "outputs", "logs", "metadata"}

// String is the section's name on the wire, empty for NoSection.
func (s Section) String() string {
	if int(s) < len(sectionNames) {
		return sectionNames[s]
	}
	return ""
}

// SectionNames returns the five names in declared order. The slice is the
// caller's own.
func SectionNames() []string {
	return append([]string(nil), sectionNames[1:]...)
}

// SectionsInPathOrder lists the five sections as a listing of the workbench's
// root meets them.
func SectionsInPathOrder() [5]Section {
	return [5]Section{Input, Logs, Metadata, Outputs, Scripts}
}

// ParseSection finds the section of that exact name.
func ParseSection(name string) (Section, bool) {
	switch name {
	case "input":
		return Input, true
	case "scripts":
		return Scripts, true
	case "outputs":
		return Outputs, true
	case "logs":
		return Logs, true
	case "metadata":
		return Metadata, true
	}
	return NoSection, false
}
