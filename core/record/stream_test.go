package record_test

import (
	"testing"

	"github.com/sawhorse-dev/sawhorse/core/record"
	"github.com/sawhorse-dev/sawhorse/core/record/recordtest"
)

func TestStreamGoldens(t *testing.T) {
	recordtest.Golden(t, "event-head", record.EventHead{First: 3, Last: 300}, record.AppendEventHead, record.DecodeEventHead, equal)
	recordtest.Golden(t, "timer", record.Timer{DueMillis: 1767323045123, Payload: []byte("p")}, record.AppendTimer, record.DecodeTimer, equal)
	recordtest.Golden(t, "lease", record.Lease{Fence: 9, Held: true, Holder: "worker-1", UntilMillis: 1767323045123},
		record.AppendLease, record.DecodeLease, equal)
	recordtest.Golden(t, "operation", record.Operation{Fingerprint: sum(7), AtMillis: -1, Answer: []byte(`{"ok":true}`)},
		record.AppendOperation, record.DecodeOperation, equal)
	recordtest.Golden(t, "audit", record.Audit{AtMillis: 1767323045000, Tenant: [16]byte{1, 15: 2}, User: "1",
		Action: "workbench.put_file", Target: "wb1/outputs/a.txt", Detail: []byte(`{}`)}, record.AppendAudit, record.DecodeAudit, equal)
	recordtest.Golden(t, "seal-key", record.SealKey{ID: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}}, record.AppendSealKey, record.DecodeSealKey, equal)
}

func FuzzStreamRecords(f *testing.F) {
	f.Add(record.AppendEventHead(nil, record.EventHead{First: 1, Last: 2}))
	f.Add(record.AppendTimer(nil, record.Timer{DueMillis: 1, Payload: []byte("x")}))
	f.Add(record.AppendLease(nil, record.Lease{Fence: 1, Holder: "h"}))
	f.Add(record.AppendOperation(nil, record.Operation{Answer: []byte("x")}))
	f.Add(record.AppendAudit(nil, record.Audit{User: "u", Action: "a", Target: "t", Detail: []byte("d")}))
	f.Fuzz(func(t *testing.T, input []byte) {
		recordtest.Decoder(t, input, record.AppendEventHead, record.DecodeEventHead)
		recordtest.Decoder(t, input, record.AppendTimer, record.DecodeTimer)
		recordtest.Decoder(t, input, record.AppendLease, record.DecodeLease)
		recordtest.Decoder(t, input, record.AppendOperation, record.DecodeOperation)
		recordtest.Decoder(t, input, record.AppendAudit, record.DecodeAudit)
		recordtest.Decoder(t, input, record.AppendSealKey, record.DecodeSealKey)
	})
}
