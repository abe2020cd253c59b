package timeline

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// choices lets the fuzzer control randomObservations. Each choice is eight bytes of the fuzzer's input. After the end
// of the input, each choice is a random number. A constant would not work, because rand repeats a choice until the
// number is in the requested range.
type choices struct {
	data []byte
	rest rand.Source
}

// Uint64 implements rand.Source.
func (c *choices) Uint64() uint64 {
	if len(c.data) < 8 {
		return c.rest.Uint64()
	}
	n := binary.LittleEndian.Uint64(c.data)
	c.data = c.data[8:]
	return n
}

// FuzzAnyEvidencePartitions looks for observations that break a timeline. Order must not matter, phases must
// cover the time without gaps, and no function may panic.
func FuzzAnyEvidencePartitions(f *testing.F) { fuzzChoices(f, checkAnyOrder) }

func fuzzChoices(f *testing.F, check func(*testing.T, *rand.Rand)) {
	for seed := range uint64(8) {
		data := make([]byte, 2048)
		random := rand.New(rand.NewPCG(seed, 1))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, rand.New(&choices{data, rand.NewPCG(1, 1)})) })
}
