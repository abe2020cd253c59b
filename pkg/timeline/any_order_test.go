package timeline

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// TestEvidenceIsAJoin checks that the order and the repetition of observations do not change the timeline. The test
// applies each observation of every script twice, in random orders.
func TestEvidenceIsAJoin(t *testing.T) {
	for _, path := range scriptPaths(t, "testdata/*.script") {
		input, _ := readScript(t, path)
		s := parseScript(t, input)
		want, _ := s.evidence().Timeline(s.asOf, s.skew)
		random := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			observations := append(slices.Clone(s.observations), s.observations...)
			random.Shuffle(len(observations), func(i, j int) {
				observations[i], observations[j] = observations[j], observations[i]
			})
			e := NewEvidence(s.scope)
			for _, o := range observations {
				e.Apply(o)
			}
			if got, _ := e.Timeline(s.asOf, s.skew); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: order changes the timeline:\n%+v\nwant\n%+v", path, got, want)
			}
		}
	}
}
