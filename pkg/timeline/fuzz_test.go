package timeline

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// choices lets the fuzzer steer randomObservations: each choice is eight bytes of its input, and a random number
// after the end of the input. (Not always the same number: rand draws again until a number fits.)
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

// FuzzAnyEvidencePartitions looks for observations that break a timeline: order must not matter, phases must
// partition, nothing may panic.
func FuzzAnyEvidencePartitions(f *testing.F) { fuzzChoices(f, checkAnyOrder) }

// FuzzAnyTerminationPartitions looks for observations that break a termination.
func FuzzAnyTerminationPartitions(f *testing.F) { fuzzChoices(f, checkAnyEnd) }

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
