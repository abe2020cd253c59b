package otlp

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// named returns the only span whose key begins with the given key.
func named(t *testing.T, spans []span, key string) span {
	t.Helper()
	var found []span
	for _, s := range spans {
		if strings.HasPrefix(s.key, key) {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans %s", len(found), key)
	}
	return found[0]
}

func has(s span, key attribute.Key) bool {
	for _, a := range s.attributes {
		if a.Key == key {
			return true
		}
	}
	return false
}

// The end of a run does not end the span while the next run is in progress.
func TestRestartedContainerSpan(t *testing.T) {
	tl := timeline.Timeline{CreatedAt: createdAt, SettledAt: after(time.Minute),
		Milestones: []timeline.MilestoneEvidence{
			{Milestone: timeline.MilestoneContainerCreated, Container: "setup", At: after(time.Second)},
			{Milestone: timeline.MilestoneFinished, Container: "setup", At: after(2 * time.Second)},
			{Milestone: timeline.MilestoneContainerCreated, Container: "setup", Attempt: 1, At: after(3 * time.Second)},
		}}
	if s := named(t, containersOf(tl), "container/setup"); !s.end.Equal(tl.SettledAt) || !has(s, keyOpen) {
		t.Errorf("ends at %s, %v", s.end, s.attributes)
	}
	tl.Milestones = append(
		tl.Milestones,
		timeline.MilestoneEvidence{
			Milestone: timeline.MilestoneFinished,
			Container: "setup",
			Attempt:   1,
			At:        after(4 * time.Second),
		},
	)
	if s := named(t, containersOf(tl), "container/setup"); !s.end.Equal(after(4*time.Second)) || has(s, keyOpen) {
		t.Errorf("ends at %s, %v", s.end, s.attributes)
	}
}

// A layer's span ends when the layer is unpacked. If the runtime did not unpack the layer, for example because the
// pull failed, the span ends with the download.
func TestLayerSpanEnd(t *testing.T) {
	tl := coldStart()
	tl.Pulls[2].Layers = []timeline.Layer{
		{Digest: "both", DownloadedAt: after(5 * time.Second), UnpackedAt: after(6 * time.Second)},
		{Digest: "came", DownloadedAt: after(5 * time.Second)},
		{Digest: "unpacked", UnpackedAt: after(6 * time.Second)},
		{Digest: "neither"},
	}
	spans := pullsOf(tl)
	for digest, want := range map[string]time.Time{"both": after(6 * time.Second), "came": after(5 * time.Second),
		"unpacked": after(6 * time.Second)} {
		if s := named(t, spans, "pull/app/1/layer/"+digest); !s.end.Equal(want) {
			t.Errorf("%s ends at %s, want %s", digest, s.end, want)
		}
	}
	for _, s := range spans {
		if strings.HasSuffix(s.key, "neither") {
			t.Error("a layer that was not downloaded has a span")
		}
	}
}

// An image volume has no container, and its pull has one span.
func TestImageVolumePullSpan(t *testing.T) {
	pull := timeline.Pull{Container: timeline.ImageName("data:1"), Image: "data:1", Kind: timeline.KindImageVolume,
		Outcome: imagepull.OutcomeDownloaded, RequestedAt: createdAt, FinishedAt: after(time.Second)}
	of := named(t, pullsOf(timeline.Timeline{Pulls: []timeline.Pull{pull}}), "pull/")
	images := 0
	for _, a := range of.attributes {
		if a.Key == keyImage {
			images++
		}
	}
	if images != 1 || has(of, semconv.K8SContainerNameKey) {
		t.Errorf("attributes %v", of.attributes)
	}
	pull.Container = "app"
	if of := named(t, pullsOf(timeline.Timeline{Pulls: []timeline.Pull{pull}}), "pull/"); !has(of,
		semconv.K8SContainerNameKey) {
		t.Errorf("attributes %v", of.attributes)
	}
}
