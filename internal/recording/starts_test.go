package recording_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestRecordingsWithoutStarts replays each recording with and without the Events Created and Started of all container
// runs that the runtime reports. The timelines must agree, apart from the texts of Events and the skew of the clocks.
// Each Event limits the skew, so the interval of the skew can be wider without these Events.
func TestRecordingsWithoutStarts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		header, recorded := read(t, path)
		without := slices.DeleteFunc(slices.Clone(recorded), isStart)
		got := replayed(t, header, without)
		for name, observations := range map[string][]timeline.Observation{
			"recorded": recorded, "with these Events": withStarts(without),
		} {
			want := replayed(t, header, observations)
			for i := range want {
				got[i].EventMessage, want[i].EventMessage = nil, nil
				got[i].Skew, want[i].Skew = timeline.Skew{}, timeline.Skew{}
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("%s: without Created and Started Events\n%+v\n%s\n%+v", path, got[i], name, want[i])
				}
			}
		}
	}
}

func read(t *testing.T, path string) (recording.Header, []timeline.Observation) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []timeline.Observation
	for r := recording.NewReader(file); ; {
		o, err := r.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, recording.ErrTruncated) {
			return r.Header(), all
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, o)
	}
}

func replayed(t *testing.T, header recording.Header, observations []timeline.Observation) []timeline.Timeline {
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
	timelines, err := recording.Replay(recording.NewReader(strings.NewReader(string(text))))
	if err != nil {
		t.Fatal(err)
	}
	return timelines
}

func isStart(o timeline.Observation) bool {
	seen, ok := o.(timeline.EventSeen)
	return ok && (seen.Reason == "Created" || seen.Reason == "Started")
}

// withStarts adds a Created and a Started Event for each run that the runtime reports, if the pod has other Events. A
// replay uses the order of observations, so each Event is in the position of its arrival.
func withStarts(observations []timeline.Observation) []timeline.Observation {
	watched, known := map[string]bool{}, map[string]bool{}
	for _, o := range observations {
		if _, ok := o.(timeline.EventSeen); ok {
			watched[o.PodUID()] = true
		}
	}
	all := slices.Clone(observations)
	add := func(uid, reason string, r timeline.ContainerRun, at time.Time) {
		key := fmt.Sprint(uid, reason, r.Name, r.Attempt)
		if at.IsZero() || known[key] || !watched[uid] {
			return
		}
		known[key] = true
		seen := timeline.EventSeen{UID: uid, ArrivedAt: at.Add(10 * time.Millisecond), Live: true, Container: r.Name,
			Reason: reason, Message: "Container " + strings.ToLower(reason), NamedAt: at, Count: 1,
			FirstAt: at.Truncate(time.Second), LastAt: at.Truncate(time.Second)}
		i := slices.IndexFunc(all, func(o timeline.Observation) bool { return o.Arrived().After(seen.ArrivedAt) })
		if i < 0 {
			i = len(all)
		}
		all = slices.Insert(all, i, timeline.Observation(seen))
	}
	for _, o := range observations {
		response, _ := o.(timeline.RuntimeSeen)
		for _, r := range response.Containers {
			add(response.UID, "Created", r, r.CreatedAt)
			add(response.UID, "Started", r, r.StartedAt)
		}
	}
	return all
}
