package recording_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/jsonlines"
	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

var update = flag.Bool("update", false, "rewrite the pictures in testdata")

// TestRecordings replays each recording in testdata and compares the waterfall with the text file of the same name.
// Recordings of bugs belong in testdata.
func TestRecordings(t *testing.T) {
	for path, timelines := range replays(t) {
		var pictures []string
		for _, tl := range timelines {
			pictures = append(pictures, render.Waterfall(api.NewRecord(tl), terminal.Page{Columns: 110}))
		}
		got := strings.Join(pictures, "\n")
		golden := strings.TrimSuffix(path, "jsonl") + "txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || got != string(want) {
			t.Errorf("%s: %v, shows\n%s", path, err, got)
		}
	}
}

// replays runs each recording in testdata through Replay, and returns the timelines by path.
func replays(t *testing.T) map[string][]timeline.Timeline {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	all := map[string][]timeline.Timeline{}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path], err = recording.Replay(recording.NewReader(file))
		file.Close()
		if err != nil {
			t.Fatalf("%s, %v", path, err)
		}
	}
	return all
}

// recorded returns the timelines of all recordings in testdata.
func recorded(t *testing.T) (all []timeline.Timeline) {
	t.Helper()
	for _, timelines := range replays(t) {
		all = append(all, timelines...)
	}
	return all
}

// TestRecordingsAsRecords checks the agent's records for each recording against the schema.
func TestRecordingsAsRecords(t *testing.T) {
	schema := startuptest.TimelineSchema(t)
	for _, tl := range recorded(t) {
		schema.Check(t, startuptest.Lines(t, jsonlines.TimelineLines, tl, created)[0])
	}
}

var created = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func after(s float64) time.Time { return created.Add(time.Duration(s * float64(time.Second))) }

// seen returns the observation of a pod object without containers, with the given conditions.
func seen(uid string, at float64, conditions ...timeline.Condition) timeline.PodSeen {
	return timeline.PodSeen{ArrivedAt: after(at), Live: true, Pod: timeline.Pod{
		UID: uid, RuntimeUID: uid, Namespace: "ns", Name: uid, Node: "node-1", CreatedAt: created, Phase: "Pending",
		Conditions: conditions,
	}}
}

// mirror returns the observation of a static pod's mirror. The kubelet read the pod's manifest at 0.2 s.
func mirror(uid string, at float64, conditions ...timeline.Condition) timeline.PodSeen {
	o := seen(uid, at, conditions...)
	o.Pod.RuntimeUID, o.Pod.ReadAt = "manifest", after(0.2)
	return o
}

func ready(at float64) timeline.Condition {
	return timeline.Condition{Type: "Ready", True: true, TransitionAt: after(at)}
}

func replay(t *testing.T, observations ...timeline.Observation) []timeline.Timeline {
	t.Helper()
	return replayed(t, recording.Header{}, observations)
}

func TestReplayFollowsReconcile(t *testing.T) {
	gone := timeline.PodGone{UID: "a", ArrivedAt: after(9), Live: true}
	response := timeline.RuntimeSeen{UID: "a", QueriedAt: after(1), ArrivedAt: after(1)}
	for name, test := range map[string]struct {
		observations []timeline.Observation
		want         []string // name, state and total of each pod; the estimated creation is 0.5 s after the timestamp
	}{
		"nothing": {nil, nil},
		"starting as of the latest instant": {
			[]timeline.Observation{seen("b", 0.5), seen("a", 4), seen("b", 3)},
			[]string{"a starting 3.5s", "b starting 3.5s"},
		},
		"ready": {[]timeline.Observation{seen("a", 1.2), seen("a", 2.5, ready(2))},
			[]string{"a ready 2s"}},
		"settled before its deletion": {[]timeline.Observation{seen("a", 2.5, ready(2)), gone},
			[]string{"a ready 2s"}},
		"deleted while starting":          {[]timeline.Observation{seen("a", 1.2), gone}, []string{"a deleted 8.5s"}},
		"a response about an unknown pod": {[]timeline.Observation{response, gone}, nil},
		"the first observation of a pod is not live: reconstructed": {
			[]timeline.Observation{listed(seen("a", 60, ready(2))), gone}, []string{"a ready 2s reconstructed"},
		},
		"the mirror of a static pod is recreated": {
			[]timeline.Observation{mirror("a", 0.5), mirror("a", 2.5, ready(2)), gone, mirror("b", 10),
				mirror("b", 10.5, ready(2))},
			[]string{"a ready 2.3s", "b ready 2.3s reconstructed"},
		},
	} {
		var got []string
		for _, tl := range replay(t, test.observations...) {
			text := tl.Name + " " + string(tl.State) + " " + tl.Total.Round(100*time.Millisecond).String()
			if tl.Reconstructed {
				text += " reconstructed"
			}
			got = append(got, text)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func listed(o timeline.PodSeen) timeline.PodSeen {
	o.Live = false
	return o
}

func TestReplayReturnsTimelinesBeforeError(t *testing.T) {
	const text = `{"kind":"header","version":1}
{"kind":"pod_seen","arrived_at":"2026-03-01T12:00:04Z","pod":{"uid":"a","name":"a","created_at":"2026-03-01T12:00:00Z"}}
{"kind":"pod_g`
	timelines, err := recording.Replay(recording.NewReader(strings.NewReader(text)))
	if !errors.Is(err, recording.ErrTruncated) || len(timelines) != 1 || timelines[0].Name != "a" {
		t.Errorf("got %+v, %v", timelines, err)
	}
}

// Pressure belongs to the node, so samples before the first pod and between pods also count.
func TestReplayIncludesPressure(t *testing.T) {
	sample := func(at, io float64) timeline.PressureSeen {
		return timeline.PressureSeen{ArrivedAt: after(at),
			Stalled: timeline.Stalled{IO: time.Duration(io * float64(time.Second))}}
	}
	all := replay(t, sample(0.6, 0), seen("a", 1.2), sample(1.6, 0.5), sample(2.6, 1), seen("a", 5, ready(2)))
	if len(all) != 1 || all[0].State != timeline.StateReady {
		t.Fatalf("got %+v", all)
	}
	found := 0
	for _, phase := range all[0].Phases {
		if p := phase.Pressure; p != nil {
			found++
			if p.IO < 0.499 || p.IO > 0.501 || p.CPU != 0 {
				t.Errorf("%s under %+v, want half of io", phase.Phase, *p)
			}
		}
	}
	if found == 0 {
		t.Errorf("no phase has pressure: %+v", all[0].Phases)
	}
}

// TestReplaySeparatesUnpackWaits replays a pull that might have waited until the runtime had unpacked a layer for
// another pod's pull. The start-up of the other pod is not over.
func TestReplaySeparatesUnpackWaits(t *testing.T) {
	pod := func(uid string, at float64, conditions ...timeline.Condition) timeline.PodSeen {
		o := seen(uid, at, conditions...)
		o.Pod.Containers = []timeline.Container{{Name: "app", Kind: timeline.KindMain, Image: "image-" + uid,
			PullPolicy: timeline.PullIfNotPresent}}
		return o
	}
	runtime := func(uid string, at float64, image timeline.Image) timeline.RuntimeSeen {
		image.Ref = "image-" + uid
		return timeline.RuntimeSeen{UID: uid, QueriedAt: after(at), ArrivedAt: after(at),
			Images: []timeline.Image{image},
			Sandboxes: []timeline.Sandbox{{Ready: true, BegunAt: after(0.5), NetworkReadyAt: after(0.6),
				RunningAt: after(0.7)}}}
	}
	event := func(uid, reason, message string, at float64) timeline.EventSeen {
		return timeline.EventSeen{UID: uid, Container: "app", Reason: reason, Message: message, NamedAt: after(at),
			FirstAt: after(at).Truncate(time.Second), LastAt: after(at).Truncate(time.Second), Count: 1, Live: true,
			ArrivedAt: after(at + 0.01)}
	}
	layer := func(downloaded, unpacked float64) timeline.Layer {
		return timeline.Layer{Digest: "sha256:layer", SizeBytes: 9, DownloadedAt: after(downloaded),
			UnpackedAt: after(unpacked)}
	}
	running := pod("a", 28.5, ready(28))
	running.Pod.Containers[0].State, running.Pod.Containers[0].StartedAt = timeline.StateRunning, after(27)
	ran := runtime("a", 28.6, timeline.Image{Present: true})
	ran.Images = nil
	ran.Containers = []timeline.ContainerRun{{Name: "app", CreatedAt: after(27.2), StartedAt: after(27.3)}}
	observations := []timeline.Observation{
		pod("a", 0.4), pod("b", 0.4),
		runtime("a", 0.75, timeline.Image{}), runtime("b", 0.75, timeline.Image{}),
		event("b", "Pulling", `Pulling image "image-b"`, 0.8), event("a", "Pulling", `Pulling image "image-a"`, 1),
		event("a", "Pulled",
			`Successfully pulled image "image-a" in 26.095s (26.095s including waiting). Image size: 9 bytes.`, 27.1),
		runtime("a", 28, timeline.Image{Present: true, Layered: true, FirstPulledAt: after(27.08),
			PulledAt: after(27.082), ResolvedAt: after(1.1), Layers: []timeline.Layer{layer(6, 26), layer(27, 27.05)}}),
		running, ran,
	}
	for state, seen := range map[timeline.State][]timeline.Observation{
		timeline.StateReady: observations, timeline.StateStarting: observations[:len(observations)-2],
	} {
		header := recording.Header{Scope: timeline.Scope{Runtime: true, Events: true}}
		for _, tl := range replayed(t, header, seen) {
			if tl.Name != "a" {
				continue
			}
			var waited time.Duration
			for _, s := range tl.Phases {
				if s.Phase == timeline.PhaseImagePull {
					waited += s.Duration()
				}
			}
			if tl.State != state || waited != 20*time.Second {
				t.Errorf("%s: image_pull took %v, phases %+v", tl.State, waited, tl.Phases)
			}
		}
	}
}
