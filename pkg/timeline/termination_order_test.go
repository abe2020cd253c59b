package timeline

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// TestTerminationsInAnyOrder checks that the order and the repetition of observations do not change a termination. The
// test keeps the runtime's responses in order. The first report of the deletion stays first, because this report
// creates the evidence.
func TestTerminationsInAnyOrder(t *testing.T) {
	for _, path := range scriptPaths(t, "testdata/terminations/*.script") {
		input, _ := readScript(t, path)
		s := parseScript(t, input)
		if terminationOf(s.observations) == nil {
			continue // no observation in the script reports the deletion
		}
		want := terminationOf(s.observations).Termination(s.asOf, s.skew)
		random := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			again := append([]Observation{s.observations[0]},
				shuffledButTheRuntime(random, append(slices.Clone(s.observations), s.observations...))...)
			if got := terminationOf(again).Termination(s.asOf, s.skew); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: order changes the termination:\n%+v\nwant\n%+v", path, got, want)
			}
		}
	}
}

// shuffledButTheRuntime shuffles the observations but keeps the order of the runtime's responses.
func shuffledButTheRuntime(random *rand.Rand, observations []Observation) []Observation {
	var responses []RuntimeSeen
	for _, o := range observations {
		if response, ok := o.(RuntimeSeen); ok {
			responses = append(responses, response)
		}
	}
	slices.SortStableFunc(responses, func(a, b RuntimeSeen) int { return a.QueriedAt.Compare(b.QueriedAt) })
	random.Shuffle(len(observations),
		func(i, j int) { observations[i], observations[j] = observations[j], observations[i] })
	for i, o := range observations {
		if _, ok := o.(RuntimeSeen); ok {
			observations[i], responses = responses[0], responses[1:]
		}
	}
	return observations
}
