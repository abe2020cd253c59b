package podwatch

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"sigs.k8s.io/randfill"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// The digest of an observation depends on every field, because JSON contains every field.
func TestDigestDependsOnEveryField(t *testing.T) {
	filler := randfill.NewWithSeed(1).NilChance(0).NumElements(1, 2).Funcs(func(at *time.Time, c randfill.Continue) {
		*at = time.Unix(c.Int63n(1<<33), 0).UTC()
	})
	for range 100 {
		var pod, read timeline.Pod
		filler.Fill(&pod)
		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, pod) {
			t.Fatalf("%v, got\n%+v, want\n%+v", err, read, pod)
		}
		first, valid := digestOf(pod)
		pod.Containers[0].Ready = !pod.Containers[0].Ready
		if second, _ := digestOf(pod); !valid || first == second {
			t.Errorf("equal digests of different pods, or no digest of %s", text)
		}
	}
}

func TestNoDigestOfTimeBeyondJSON(t *testing.T) {
	if _, ok := digestOf(timeline.Pod{CreatedAt: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}); ok {
		t.Error("got a digest although JSON has no such time")
	}
}

func BenchmarkDigest(b *testing.B) {
	pod := timeline.Pod{UID: "uid-1", RuntimeUID: "uid-1", Namespace: "shop", Name: "web-0", Node: "node-a",
		CreatedAt: time.Unix(1e9, 0).UTC(), AcknowledgedAt: time.Unix(1e9, 0).UTC(), Phase: "Running",
		Conditions: make([]timeline.Condition, 5), Containers: make([]timeline.Container, 4),
		Labels: "app.kubernetes.io/name=web,app.kubernetes.io/version=1,pod-template-hash=7d4b9c6f5"}
	b.ReportAllocs()
	for b.Loop() {
		digestOf(pod)
	}
}
