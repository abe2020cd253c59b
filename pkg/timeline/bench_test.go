package timeline

import (
	"bytes"
	"os"
	"testing"
)

func firstLight(b *testing.B) *script {
	data, err := os.ReadFile("testdata/first-light.script")
	if err != nil {
		b.Fatal(err)
	}
	input, _, _ := bytes.Cut(data, []byte("---\n"))
	return parseScript(b, input)
}

// BenchmarkApply applies one observation to evidence that has it already: the steady state.
func BenchmarkApply(b *testing.B) {
	s := firstLight(b)
	e := s.evidence()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e.Apply(s.observations[i%len(s.observations)])
	}
}

// BenchmarkFold folds a pod with an init container, a sidecar and a main container.
func BenchmarkFold(b *testing.B) {
	s := firstLight(b)
	e := s.evidence()
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := e.Timeline(s.asOf, s.skew); !ok {
			b.Fatal("no timeline")
		}
	}
}
