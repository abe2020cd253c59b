package otlp

import (
	"testing"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestPhaseSpansHavePressure(t *testing.T) {
	spans := phasesOf(timeline.Timeline{Phases: []timeline.Span{
		{Phase: timeline.PhaseVolumes}, {Phase: timeline.PhaseUnpack, Pressure: &timeline.Pressure{CPU: 0.1, IO: 0.8}},
	}})
	for i, want := range []map[string]float64{{}, {keyCPUPressure: 0.1, keyIOPressure: 0.8, keyMemoryPressure: 0}} {
		got := 0
		for _, a := range spans[i].attributes {
			share, ok := want[string(a.Key)]
			if ok {
				got++
				if a.Value.AsFloat64() != share {
					t.Errorf("%s is %v, want %v", a.Key, a.Value.AsFloat64(), share)
				}
			} else if a.Key == keyIOPressure {
				t.Errorf("%s has a pressure that was not measured", spans[i].name)
			}
		}
		if got != len(want) {
			t.Errorf("%s has %d pressures, want %d", spans[i].name, got, len(want))
		}
	}
}
