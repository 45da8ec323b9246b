package record

const (
	workbenchVersion     = 1
	workbenchHeadVersion = 1
	fileVersion          = 2
)

const incarnationLen = 16

// Workbench is what makes a workbench exist: the life that its id now names.
type Workbench struct {
	Incarnation [incarnationLen]byte
	// CreatedMillis is when this life began, by the store's clock.
	CreatedMillis int64
}

// AppendWorkbench appends the encoding of w.
func AppendWorkbench(dst []byte, w Workbench) []byte {
	dst = append(append(dst, workbenchVersion), w.Incarnation[:]...)
	return AppendInt(dst, w.CreatedMillis)
}

// DecodeWorkbench reads what AppendWorkbench wrote.
func DecodeWorkbench(value []byte) (w Workbench, err error) {
	_, r := NewReader(value, workbenchVersion)
	copy(w.Incarnation[:], r.Fixed(incarnationLen))
	w.CreatedMillis = r.Int()
	if err := r.Done(); err != nil {
		return Workbench{}, err
	}
	return w, nil
}

// WorkbenchHead is the state of a workbench as a whole.
type WorkbenchHead struct {
	// ContentRevision is the root's revision that last changed the content.
	ContentRevision uint64
}

// AppendWorkbenchHead appends the encoding of h.
func AppendWorkbenchHead(dst []byte, h WorkbenchHead) []byte {
	return AppendUint(append(dst, workbenchHeadVersion), h.ContentRevision)
}

// DecodeWorkbenchHead reads what AppendWorkbenchHead wrote.
func DecodeWorkbenchHead(value []byte) (WorkbenchHead, error) {
	_, r := NewReader(value, workbenchHeadVersion)
	h := WorkbenchHead{ContentRevision: r.Uint()}
	if err := r.Done(); err != nil {
		return WorkbenchHead{}, err
	}
	return h, nil
}

// File is a path's record: one published revision of a file.
type File struct {
	// Generation is 1 for the first publication of the path and grows by one
	// with each.
	Generation uint64
	// ModifiedMillis is when the revision was published, by the store's clock.
	ModifiedMillis int64
	ContentType    string
	// Producer and ManifestID are nil when no writer named them.
	Producer   *string
	ManifestID *string
	Body       Body
	// Index holds the custom fields, sorted, each once. A record without any is
	// written as version 1, which knows none.
	Index []IndexValue
}

// AppendFile appends the encoding of f.
func AppendFile(dst []byte, f File) []byte {
	version := byte(1)
	if len(f.Index) > 0 {
		version = fileVersion
	}
	dst = AppendUint(append(dst, version), f.Generation)
	dst = AppendInt(dst, f.ModifiedMillis)
	dst = AppendBytes(dst, f.ContentType)
	dst = appendOptString(dst, f.Producer)
	dst = appendOptString(dst, f.ManifestID)
	dst = AppendBody(dst, f.Body)
	if version > 1 {
		dst = appendIndexValues(dst, f.Index)
	}
	return dst
}

// DecodeFile reads what AppendFile wrote. The body aliases the value.
func DecodeFile(value []byte) (File, error) {
	version, r := NewReader(value, fileVersion)
	f := File{Generation: r.Uint(), ModifiedMillis: r.Int(), ContentType: r.String()}
	f.Producer = readOptString(&r)
	f.ManifestID = readOptString(&r)
	f.Body = ReadBody(&r)
	if version > 1 {
		f.Index = readIndexValues(&r)
	}
	if f.Generation == 0 {
		r.Fail()
	}
	if err := r.Done(); err != nil {
		return File{}, err
	}
	return f, nil
}

// FileLength reads the length of the body out of what AppendFile wrote, and
// allocates nothing for a small body without custom fields.
func FileLength(value []byte) (int64, error) {
	version, r := NewReader(value, fileVersion)
	r.Uint()
	r.Int()
	r.Bytes()
	for range 2 {
		if r.Bool() {
			r.Bytes()
		}
	}
	b := ReadBody(&r)
	if version > 1 {
		readIndexValues(&r)
	}
	if err := r.Done(); err != nil {
		return 0, err
	}
	return b.Length, nil
}

func appendOptString(dst []byte, s *string) []byte {
	if s == nil {
		return AppendBool(dst, false)
	}
	return AppendBytes(AppendBool(dst, true), *s)
}

func readOptString(r *Reader) *string {
	s, present := r.OptString()
	if !present {
		return nil
	}
	return &s
}
