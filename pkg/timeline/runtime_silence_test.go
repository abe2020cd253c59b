package timeline

import (
	"reflect"
	"testing"
	"time"
)

func TestRuntimeSilences(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	span := func(phase Phase, from, to float64, merged ...Phase) Span {
		return Span{Phase: phase, Cause: CauseOf(phase), StartAt: second(from), EndAt: second(to), MergedWith: merged}
	}
	// silent returns a silence whose catch-up time ends at the given instant.
	silent := func(from, until float64) RuntimeSilent {
		until -= catchUp.Seconds()
		return RuntimeSilent{ArrivedAt: second(until), From: second(from), Until: second(until)}
	}
	tests := []struct {
		name     string
		silences []RuntimeSilent
		phases   []Span
		want     []Span
	}{
		{"at the end of the network", []RuntimeSilent{silent(3, 5)},
			[]Span{span(PhaseNetwork, 1, 5), span(PhaseSandbox, 5, 6)},
			[]Span{span(PhaseNetwork, 1, 3), span(PhaseUnattributed, 3, 5, PhaseNetwork, PhaseSandbox),
				span(PhaseSandbox, 5, 6)}},
		{"within a pull", []RuntimeSilent{silent(3, 5)},
			[]Span{span(PhasePull, 1, 8)},
			[]Span{span(PhasePull, 1, 3), span(PhaseUnattributed, 3, 5, PhasePull, PhaseContainerCreate),
				span(PhasePull, 5, 8)}},
		{"all of the kubelet's wait, which is a merged phase", []RuntimeSilent{silent(0, 9)},
			[]Span{span(PhaseKubeletSync, 1, 2, PhaseContainerCreate)},
			[]Span{span(PhaseUnattributed, 1, 2, PhaseKubeletSync, PhaseContainerCreate)}},
		{"while the application runs", []RuntimeSilent{silent(3, 5)},
			[]Span{span(PhaseInitRun, 1, 8)}, []Span{span(PhaseInitRun, 1, 8)}},
		{"an overlap that is too short to count", []RuntimeSilent{silent(7.96, 9)},
			[]Span{span(PhasePull, 1, 8)}, []Span{span(PhasePull, 1, 8)}},
		{"twice", []RuntimeSilent{silent(2, 3), silent(4, 5)},
			[]Span{span(PhasePull, 1, 4.5)},
			[]Span{span(PhasePull, 1, 2), span(PhaseUnattributed, 2, 3, PhasePull, PhaseContainerCreate),
				span(PhasePull, 3, 4), span(PhaseUnattributed, 4, 4.5, PhasePull, PhaseContainerCreate)}},
		{"unattributed before", []RuntimeSilent{silent(2, 3)},
			[]Span{span(PhaseUnattributed, 1, 3, PhasePull, PhaseUnpack)},
			[]Span{span(PhaseUnattributed, 1, 2, PhasePull, PhaseUnpack),
				span(PhaseUnattributed, 2, 3, PhasePull, PhaseUnpack, PhaseContainerCreate)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log SilenceLog
			for _, s := range test.silences {
				log.Observe(s)
				log.Observe(s) // the repeated observation must change nothing
			}
			before := append([]Span(nil), test.phases...)
			tl := Timeline{Phases: test.phases}
			log.Complete(&tl)
			if !reflect.DeepEqual(tl.Phases, test.want) {
				t.Errorf("got %+v\nwant %+v", tl.Phases, test.want)
			}
			if !reflect.DeepEqual(test.phases, before) {
				t.Error("Complete changed the original phases")
			}
		})
	}
}

func TestPhaseInProgressStaysOpen(t *testing.T) {
	var log SilenceLog
	log.Observe(RuntimeSilent{From: base, Until: base.Add(time.Second)}) // and half a second to catch up
	tl := Timeline{Phases: []Span{{Phase: PhasePull, StartAt: base, EndAt: base.Add(3 * time.Second), Open: true}}}
	log.Complete(&tl)
	if len(tl.Phases) != 2 || tl.Phases[0].Open || !tl.Phases[1].Open {
		t.Errorf("got %+v", tl.Phases)
	}
	for range 2 * maxSilences {
		base := base.Add(time.Hour)
		log.Observe(RuntimeSilent{From: base, Until: base.Add(time.Duration(len(log.silences)+1) * time.Second)})
	}
	if len(log.silences) > maxSilences {
		t.Errorf("%d silences are kept", len(log.silences))
	}
}
