package record

import "crypto/sha256"

const (
	eventHeadVersion = 1
	timerVersion     = 1
	leaseVersion     = 1
	operationVersion = 1
	auditVersion     = 1
	sealKeyVersion   = 1
)

// EventHead is the state of a stream.
type EventHead struct {
	// First is the lowest sequence that was not trimmed, Last the highest that
	// was given. The stream is empty when First is above Last.
	First, Last uint64
}

// AppendEventHead appends the encoding of h.
func AppendEventHead(dst []byte, h EventHead) []byte {
	return AppendUint(AppendUint(append(dst, eventHeadVersion), h.First), h.Last)
}

// DecodeEventHead reads what AppendEventHead wrote.
func DecodeEventHead(value []byte) (EventHead, error) {
	_, r := NewReader(value, eventHeadVersion)
	h := EventHead{First: r.Uint(), Last: r.Uint()}
	if err := r.Done(); err != nil {
		return EventHead{}, err
	}
	return h, nil
}

// Timer is an armed timer.
type Timer struct {
	// DueMillis is when it falls due, by the store's clock.
	DueMillis int64
	// Payload belongs to whoever armed it; it aliases the value.
	Payload []byte
}

// AppendTimer appends the encoding of t.
func AppendTimer(dst []byte, t Timer) []byte {
	return AppendBytes(AppendInt(append(dst, timerVersion), t.DueMillis), t.Payload)
}

// DecodeTimer reads what AppendTimer wrote.
func DecodeTimer(value []byte) (Timer, error) {
	_, r := NewReader(value, timerVersion)
	t := Timer{DueMillis: r.Int(), Payload: r.Bytes()}
	if err := r.Done(); err != nil {
		return Timer{}, err
	}
	return t, nil
}

// Lease is the state of a name that was leased at least once.
type Lease struct {
	// Fence counts the holders that the name has had.
	Fence uint64
	// Held is false after a release; Holder and UntilMillis then are those of the
	// last holder.
	Held        bool
	Holder      string
	UntilMillis int64
}

// AppendLease appends the encoding of l.
func AppendLease(dst []byte, l Lease) []byte {
	dst = AppendBool(AppendUint(append(dst, leaseVersion), l.Fence), l.Held)
	return AppendInt(AppendBytes(dst, l.Holder), l.UntilMillis)
}

// DecodeLease reads what AppendLease wrote.
func DecodeLease(value []byte) (Lease, error) {
	_, r := NewReader(value, leaseVersion)
	l := Lease{Fence: r.Uint(), Held: r.Bool(), Holder: r.String(), UntilMillis: r.Int()}
	if err := r.Done(); err != nil {
		return Lease{}, err
	}
	return l, nil
}

// Operation is the record of an operation that has an identity.
type Operation struct {
	// Fingerprint is the digest of the request.
	Fingerprint [sha256.Size]byte
	// AtMillis is when the answer was first given, by the store's clock.
	AtMillis int64
	// Answer belongs to the operation's kind; it aliases the value.
	Answer []byte
}

// AppendOperation appends the encoding of o.
func AppendOperation(dst []byte, o Operation) []byte {
	dst = append(append(dst, operationVersion), o.Fingerprint[:]...)
	return AppendBytes(AppendInt(dst, o.AtMillis), o.Answer)
}

// DecodeOperation reads what AppendOperation wrote.
func DecodeOperation(value []byte) (Operation, error) {
	_, r := NewReader(value, operationVersion)
	var o Operation
	copy(o.Fingerprint[:], r.Fixed(sha256.Size))
	o.AtMillis = r.Int()
	o.Answer = r.Bytes()
	if err := r.Done(); err != nil {
		return Operation{}, err
	}
	return o, nil
}

// Audit is the record of one change: who did what to what.
type Audit struct {
	AtMillis int64
	// Tenant and User are the principal's; User is empty for the system itself.
	Tenant [16]byte
	User   string
	// Action is an operation id, Target names what it changed.
	Action, Target string
	// Detail is what else the action wants remembered; it aliases the value.
	Detail []byte
}

// AppendAudit appends the encoding of a.
func AppendAudit(dst []byte, a Audit) []byte {
	dst = AppendInt(append(dst, auditVersion), a.AtMillis)
	dst = append(dst, a.Tenant[:]...)
	dst = AppendBytes(AppendBytes(AppendBytes(dst, a.User), a.Action), a.Target)
	return AppendBytes(dst, a.Detail)
}

// DecodeAudit reads what AppendAudit wrote.
func DecodeAudit(value []byte) (Audit, error) {
	_, r := NewReader(value, auditVersion)
	a := Audit{AtMillis: r.Int()}
	copy(a.Tenant[:], r.Fixed(len(a.Tenant)))
	a.User, a.Action, a.Target = r.String(), r.String(), r.String()
	a.Detail = r.Bytes()
	if err := r.Done(); err != nil {
		return Audit{}, err
	}
	return a, nil
}

// SealKey names the sealing key of the store.
type SealKey struct{ ID [8]byte }

// AppendSealKey appends the encoding of k.
func AppendSealKey(dst []byte, k SealKey) []byte {
	return append(append(dst, sealKeyVersion), k.ID[:]...)
}

// DecodeSealKey reads what AppendSealKey wrote.
func DecodeSealKey(value []byte) (k SealKey, err error) {
	_, r := NewReader(value, sealKeyVersion)
	copy(k.ID[:], r.Fixed(len(k.ID)))
	if err := r.Done(); err != nil {
		return SealKey{}, err
	}
	return k, nil
}
