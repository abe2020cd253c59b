package timeline

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// TestEvidenceIsAJoin shows that neither the order of observations nor repeating them changes the
// timeline: every script, shuffled and doubled.
func TestEvidenceIsAJoin(t *testing.T) {
	paths, _ := filepath.Glob("testdata/*.script")
	if len(paths) == 0 {
		t.Fatal("no scripts")
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		input, _, _ := bytes.Cut(data, []byte("---\n"))
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
