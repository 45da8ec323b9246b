// Package witness holds what is generated against what it was generated from, by means that the generator does not use:
// another schema validator, another reflector, protobuf's own JSON. It has tests only.
package witness
