package record

const (
	commitHeadVersion      = 1
	commitVersion          = 1
	commitOperationVersion = 1
)

const identityLen = 32

// CommitHead is the commit that a workbench stands on.
type CommitHead struct {
	// Generation is 1 for a workbench's first commit and grows by one with each
	// that replaces it.
	Generation uint64
	Identity   [identityLen]byte
}

// AppendCommitHead appends the encoding of h.
func AppendCommitHead(dst []byte, h CommitHead) []byte {
	return append(AppendUint(append(dst, commitHeadVersion), h.Generation), h.Identity[:]...)
}

// DecodeCommitHead reads what AppendCommitHead wrote.
func DecodeCommitHead(value []byte) (CommitHead, error) {
	_, r := NewReader(value, commitHeadVersion)
	h := CommitHead{Generation: r.Uint()}
	copy(h.Identity[:], r.Fixed(identityLen))
	if h.Generation == 0 {
		r.Fail()
	}
	if err := r.Done(); err != nil {
		return CommitHead{}, err
	}
	return h, nil
}

// Commit is a published commit. It is written once and kept for ever.
type Commit struct {
	// Generation is that of the commit head that it made.
	Generation uint64
	// Parent is the commit that it replaced; nil for a workbench's first.
	Parent *[identityLen]byte
	// What the caller said: two digests, whether to replace, and under which
	// presentation path.
	Content  [identityLen]byte
	Manifest [identityLen]byte
	Replace  bool
	Path     string
	// CommittedMillis is when it was first asked for, by the store's clock.
	CommittedMillis int64
	// Frozen is the revision whose files it holds, and Hold what keeps them.
	Frozen uint64
	Hold   uint64
	// Tree is the digest of those files and Members their number, the run manifest
	// that the commit wrote among them.
	Tree    [identityLen]byte
	Members uint64
	// ManifestGeneration is that of the run manifest's path, Envelope its body.
	ManifestGeneration uint64
	Envelope           Body
}

// AppendCommit appends the encoding of c.
func AppendCommit(dst []byte, c Commit) []byte {
	dst = AppendUint(append(dst, commitVersion), c.Generation)
	dst = AppendBool(dst, c.Parent != nil)
	if c.Parent != nil {
		dst = append(dst, c.Parent[:]...)
	}
	dst = append(append(dst, c.Content[:]...), c.Manifest[:]...)
	dst = AppendInt(AppendBytes(AppendBool(dst, c.Replace), c.Path), c.CommittedMillis)
	dst = AppendUint(AppendUint(dst, c.Frozen), c.Hold)
	dst = AppendUint(append(dst, c.Tree[:]...), c.Members)
	return AppendBody(AppendUint(dst, c.ManifestGeneration), c.Envelope)
}

// DecodeCommit reads what AppendCommit wrote. The body aliases the value.
func DecodeCommit(value []byte) (Commit, error) {
	_, r := NewReader(value, commitVersion)
	c := Commit{Generation: r.Uint()}
	if r.Bool() {
		c.Parent = new([identityLen]byte)
		copy(c.Parent[:], r.Fixed(identityLen))
	}
	copy(c.Content[:], r.Fixed(identityLen))
	copy(c.Manifest[:], r.Fixed(identityLen))
	c.Replace, c.Path, c.CommittedMillis = r.Bool(), r.String(), r.Int()
	c.Frozen, c.Hold = r.Uint(), r.Uint()
	copy(c.Tree[:], r.Fixed(identityLen))
	c.Members, c.ManifestGeneration = r.Uint(), r.Uint()
	c.Envelope = ReadBody(&r)
	if c.Generation == 0 || c.ManifestGeneration == 0 {
		r.Fail()
	}
	if err := r.Done(); err != nil {
		return Commit{}, err
	}
	return c, nil
}

// CommitOperation is a commit that was asked for and is not published: the whole
// request, and what it was found to stand on.
type CommitOperation struct {
	// Workbench is the id that the caller gave, Path its presentation path then.
	Workbench string
	Path      string
	Content   [identityLen]byte
	Manifest  [identityLen]byte
	Replace   bool
	// Projection is the digest of all that the envelope is made of but the time.
	Projection [identityLen]byte
	// Head is the commit head that it has to find when it is published; generation 0
	// for none. ManifestGeneration is that of the run manifest's path; 0 for none.
	Head               CommitHead
	ManifestGeneration uint64
	// AtMillis is when it was first asked for, by the store's clock; the envelope's
	// time comes from it.
	AtMillis int64
	// Frozen is the revision whose files it is of, and Hold what keeps them.
	Frozen uint64
	Hold   uint64
	// Staged says that Body is the envelope; before, it is the canonical manifest.
	Staged bool
	Body   Body
}

// AppendCommitOperation appends the encoding of o.
func AppendCommitOperation(dst []byte, o CommitOperation) []byte {
	dst = AppendBytes(AppendBytes(append(dst, commitOperationVersion), o.Workbench), o.Path)
	dst = append(append(dst, o.Content[:]...), o.Manifest[:]...)
	dst = append(AppendBool(dst, o.Replace), o.Projection[:]...)
	dst = append(AppendUint(dst, o.Head.Generation), o.Head.Identity[:]...)
	dst = AppendInt(AppendUint(dst, o.ManifestGeneration), o.AtMillis)
	dst = AppendUint(AppendUint(dst, o.Frozen), o.Hold)
	return AppendBody(AppendBool(dst, o.Staged), o.Body)
}

// DecodeCommitOperation reads what AppendCommitOperation wrote. The body aliases
// the value.
func DecodeCommitOperation(value []byte) (CommitOperation, error) {
	_, r := NewReader(value, commitOperationVersion)
	o := CommitOperation{Workbench: r.String(), Path: r.String()}
	copy(o.Content[:], r.Fixed(identityLen))
	copy(o.Manifest[:], r.Fixed(identityLen))
	o.Replace = r.Bool()
	copy(o.Projection[:], r.Fixed(identityLen))
	o.Head.Generation = r.Uint()
	copy(o.Head.Identity[:], r.Fixed(identityLen))
	o.ManifestGeneration, o.AtMillis = r.Uint(), r.Int()
	o.Frozen, o.Hold = r.Uint(), r.Uint()
	o.Staged = r.Bool()
	o.Body = ReadBody(&r)
	if err := r.Done(); err != nil {
		return CommitOperation{}, err
	}
	return o, nil
}
