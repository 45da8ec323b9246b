package kvtest

import (
	"os"
	"strconv"
)

// Draws is how often a crash test draws at one point: usually a few times. The
// environment variable SAWHORSE_SEEDS asks for more, by the number of draws for
// a whole run, of which one point gets its share.
func Draws(usual, share int) int {
	n, err := strconv.Atoi(os.Getenv("SAWHORSE_SEEDS"))
	if err != nil {
		return usual
	}
	return max(usual, n/share)
}
