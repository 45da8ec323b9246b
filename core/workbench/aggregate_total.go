package workbench

import (
	"math"
	"math/bits"

	"github.com/sawhorse-dev/sawhorse/core/record"
)

// total adds up numbers of one type. Integers have 128 bits, in two's complement,
// so that an average is of all of their sum. Floats are added with the error of
// each step kept (Neumaier), so that the order of rows hardly shows.
type total struct {
	kind      record.Kind
	high, low uint64
	sums, err float64
}

func (t *total) add(v scalar) {
	switch t.kind = v.Kind; v.Kind {
	case record.KindUnsigned:
		t.addInteger(0, v.Bits)
	case record.KindSigned:
		t.addInteger(uint64(int64(v.Bits)>>63), v.Bits)
	case record.KindFloat:
		f := math.Float64frombits(v.Bits)
		next := t.sums + f
		if math.Abs(t.sums) >= math.Abs(f) {
			t.err += t.sums - next + f
		} else {
			t.err += f - next + t.sums
		}
		t.sums = next
	}
}

func (t *total) addInteger(high, low uint64) {
	var carry uint64
	t.low, carry = bits.Add64(t.low, low, 0)
	t.high += high + carry
}

// sum has the type of the numbers; not ok when that does not hold it.
func (t *total) sum() (scalar, bool) {
	switch t.kind {
	case record.KindUnsigned:
		return record.Unsigned(t.low), t.high == 0
	case record.KindSigned:
		return record.Signed(int64(t.low)), t.high == uint64(int64(t.low)>>63)
	}
	return finite(t.sums + t.err)
}

// mean is a float; not ok when none holds it.
func (t *total) mean(count uint64) (scalar, bool) {
	switch t.kind {
	case record.KindUnsigned:
		return finite((math.Ldexp(float64(t.high), 64) + float64(t.low)) / float64(count))
	case record.KindSigned:
		high, low, sign := t.high, t.low, 1.0
		if int64(high) < 0 {
			sign = -1
			var borrow uint64
			low, borrow = bits.Sub64(0, low, 0)
			high, _ = bits.Sub64(0, high, borrow)
		}
		return finite(sign * (math.Ldexp(float64(high), 64) + float64(low)) / float64(count))
	}
	return finite((t.sums + t.err) / float64(count))
}

func finite(f float64) (scalar, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return scalar{}, false
	}
	return record.Float(f), true
}
