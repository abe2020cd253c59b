package timeline_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestRecordedObservationsFoldTheSame encodes and decodes the observations of every script, and also random
// observations. The decoded observations and their timelines must be equal to the original.
func TestRecordedObservationsFoldTheSame(t *testing.T) {
	for _, script := range slices.Concat(timeline.Scripts(t), timeline.TerminationScripts(t)) {
		before, after := timeline.NewEvidence(script.Scope), timeline.NewEvidence(script.Scope)
		for i, o := range viaText(t, script.Scope, script.Observations) {
			if !reflect.DeepEqual(o, script.Observations[i]) {
				t.Errorf("%s: read\n%+v\nwas\n%+v", script.Name, o, script.Observations[i])
			}
			before.Apply(script.Observations[i])
			after.Apply(o)
		}
		want, _ := before.Timeline(script.AsOf, timeline.Skew{})
		if got, ok := after.Timeline(script.AsOf, timeline.Skew{}); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: folded to\n%+v\nwant\n%+v", script.Name, got, want)
		}
	}
	for seed := range uint64(300) {
		observations := timeline.RandomObservations(seed)
		if got := viaText(t, timeline.Scope{}, observations); !reflect.DeepEqual(got, observations) {
			t.Fatalf("seed %d: read\n%+v\nwas\n%+v", seed, got, observations)
		}
	}
}

// TestReplayOfScripts replays the observations of every script and expects the script's phases. The test does not
// compare details such as a digest, because the agent ignores responses that it no longer needs.
func TestReplayOfScripts(t *testing.T) {
	for _, script := range timeline.Scripts(t) {
		clock := timeline.PodSeen{ArrivedAt: script.AsOf, Pod: timeline.Pod{UID: "clock", Namespace: "zz"}}
		recorded := text(t, recording.Header{Scope: script.Scope}, append(script.Observations, clock))
		timelines, err := recording.Replay(recording.NewReader(bytes.NewReader(recorded)))
		if err != nil || len(timelines) != 2 {
			t.Errorf("%s: %d timelines, %v", script.Name, len(timelines), err)
			continue
		}
		e := timeline.NewEvidence(script.Scope)
		for _, o := range script.Observations {
			e.Apply(o)
		}
		want, _ := e.Timeline(script.AsOf, timeline.Skew{})
		got := timelines[0]
		if got.State != want.State || got.Total != want.Total || !reflect.DeepEqual(got.Phases, want.Phases) {
			t.Errorf("%s: replayed to\n%+v\nwant\n%+v", script.Name, got, want)
		}
	}
}

func text(t *testing.T, header recording.Header, observations []timeline.Observation) []byte {
	t.Helper()
	text, err := recording.EncodeHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range observations {
		line, err := recording.Encode(o)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, line...)
	}
	return text
}

func viaText(t *testing.T, scope timeline.Scope, observations []timeline.Observation) []timeline.Observation {
	t.Helper()
	reader := recording.NewReader(bytes.NewReader(text(t, recording.Header{Scope: scope}, observations)))
	var read []timeline.Observation
	for range observations {
		o, err := reader.Next()
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, o)
	}
	return read
}
