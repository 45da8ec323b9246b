// Code copied by gwgen from tools/gwgen/internal/emit/runtime/op/check.go. DO NOT EDIT.

package ws

import (
	"math"
	"regexp"
	"unicode/utf8"
)

// checkLength bounds a string in Unicode scalar values; hi < 0 means unbounded.
func checkLength(v string, lo, hi int, path string) *Invalid {
	if len(v) >= 4*lo && (hi < 0 || len(v) <= hi) {
		return nil
	}
	n := utf8.RuneCountInString(v)
	if n < lo {
		if lo == 1 {
			return refuse(path, "minLength", "must not be empty")
		}
		return refuse(path, "minLength", "must have at least "+itoa(lo)+" characters")
	}
	if hi >= 0 && n > hi {
		return refuse(path, "maxLength", "must have at most "+itoa(hi)+" characters")
	}
	return nil
}

func checkMin(v, lo int64, path string) *Invalid {
	if v < lo {
		return refuse(path, "minimum", "must be at least "+itoa(int(lo)))
	}
	return nil
}

func checkMax(v, hi int64, path string) *Invalid {
	if v > hi {
		return refuse(path, "maximum", "must be at most "+itoa(int(hi)))
	}
	return nil
}

func checkItems(n, lo, hi int, path string) *Invalid {
	if n < lo {
		return refuse(path, "minItems", "must have at least "+itoa(lo)+" items")
	}
	if hi >= 0 && n > hi {
		return refuse(path, "maxItems", "must have at most "+itoa(hi)+" items")
	}
	return nil
}

func checkPattern(v string, p *regexp.Regexp, words, path string) *Invalid {
	if !p.MatchString(v) {
		return refuse(path, "pattern", "must match "+words)
	}
	return nil
}

func checkFinite(v float64, path string) *Invalid {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return refuse(path, "type", "must be a finite number")
	}
	return nil
}
