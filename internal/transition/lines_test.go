package transition_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/transition"
	"github.com/podlapse/podlapse/internal/transition/transitiontest"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

var (
	update = flag.Bool("update", false, "rewrite the files in testdata; read the difference by eye")

	now = startuptest.After(time.Minute)
)

// TestTransitionLines compares all lines of one pod with a file.
func TestTransitionLines(t *testing.T) {
	lines := bytes.Join(startuptest.Lines(t, transition.Lines, startuptest.InTransition(), now), nil)
	startuptest.Golden(t, *update, "in-transition.jsonl", string(lines))
}

// The test uses only one fixture, because the other fixtures lack the evidence that transition records need.
func TestTransitionLinesAgreeWithTheTimeline(t *testing.T) {
	tl := startuptest.InTransition()
	transitiontest.Agree(t, tl, startuptest.Lines(t, transition.Lines, tl, now), now)
}

// TestTransitionFieldsAreInTheSchema sets every field of a transition record and validates the record.
func TestTransitionFieldsAreInTheSchema(t *testing.T) {
	schema := transitiontest.Schema(t)
	for kind, keep := range map[string]func(*transition.Metrics){
		"pod":        func(m *transition.Metrics) { m.Container, m.ImagePull = nil, nil },
		"container":  func(m *transition.Metrics) { m.Pod, m.ImagePull = nil, nil },
		"image_pull": func(m *transition.Metrics) { m.Pod, m.Container = nil, nil },
	} {
		var record transition.Record
		startuptest.Fill(&record)
		record.Metrics.Type, record.Metrics.QOS = kind, "Burstable"
		both, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		keep(&record.Metrics)
		line, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		schema.Check(t, line)
		for what, spoiled := range map[string]string{
			"several parts":           string(both),
			"another field":           strings.Replace(string(line), `"time"`, `"other":1,"time"`, 1),
			"an unknown nested field": strings.Replace(string(line), `"pod_name"`, `"other":1,"pod_name"`, 1),
			"a field of " + kind:      strings.Replace(string(line), `"`+kind+`":{`, `"`+kind+`":{"other":1,`, 1),
			"another type":            strings.Replace(string(line), `"type":"`, `"type":"x`, 1),
			"no pod":                  strings.Replace(string(line), `"pod_name":"x",`, "", 1),
			"a truncated instant":     strings.Replace(string(line), `12:01:00.000000000Z`, ``, 1),
		} {
			if spoiled == string(line) || schema.Validate([]byte(spoiled)) == nil {
				t.Errorf("%s is valid: %s", what, spoiled)
			}
		}
	}
}

func TestFixturesMatchTransitionSchema(t *testing.T) {
	schema := transitiontest.Schema(t)
	for _, tl := range startuptest.All() {
		for _, line := range startuptest.Lines(t, transition.Lines, tl, now) {
			schema.Check(t, line)
		}
	}
}

// Transition records omit unknown values, and values of a pod object that the schema does not allow.
func TestTransitionLinesOmitUnknownValues(t *testing.T) {
	tl := timeline.Timeline{
		CreatedAt: now, Partial: true,
		Traits: timeline.Traits{QOSClass: "New", Controller: timeline.Owner{Kind: "Rollout", Name: "r"}},
		Reached: timeline.Reached{
			Containers: []timeline.ContainerReached{{Name: "app", Image: "NOT an image", Kind: timeline.KindMain}}},
		Pulls: []timeline.Pull{{Container: "app", Outcome: imagepull.OutcomePulling, StartedAt: now}},
	}
	lines := startuptest.Lines(t, transition.Lines, tl, now)
	schema := transitiontest.Schema(t)
	for _, line := range lines {
		schema.Check(t, line)
	}
	const about = `"partial":true,"kube_namespace":"","pod_name":"","kube_ownerref_kind":"rollout",` +
		`"kube_ownerref_name":"r",`
	const at = `2026-03-01T12:01:00.000000000Z"`
	want := `{"kube_transition_metrics":{"type":"pod",` + about + `"pod":{"creation_timestamp":"` + at + `}},"time":"` +
		at + "}\n" +
		`{"kube_transition_metrics":{"type":"container",` + about +
		`"container_name":"app","container":{"init_container":false}},"time":"` + at + "}\n" +
		`{"kube_transition_metrics":{"type":"image_pull",` + about +
		`"container_name":"app","image_pull":{"started_timestamp":"` + at + `}},"time":"` + at + "}\n"
	if got := string(bytes.Join(lines, nil)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTransitionOwners(t *testing.T) {
	for _, test := range []struct {
		controller, owner timeline.Owner
		want              string // the labels after kube_, in the order of the record
	}{
		{timeline.Owner{}, timeline.Owner{}, ``},
		{timeline.Owner{Kind: "ReplicaSet", Name: "web-1"}, timeline.Owner{Kind: "Deployment", Name: "web"},
			`,"kube_ownerref_kind":"replicaset","kube_ownerref_name":"web-1","kube_deployment":"web",` +
				`"kube_replica_set":"web-1"`},
		{timeline.Owner{Kind: "Job", Name: "c-1"}, timeline.Owner{Kind: "CronJob", Name: "c"},
			`,"kube_ownerref_kind":"job","kube_ownerref_name":"c-1","kube_cronjob":"c","kube_job":"c-1"`},
		{timeline.Owner{Kind: "Job", Name: "j"}, timeline.Owner{Kind: "Job", Name: "j"},
			`,"kube_ownerref_kind":"job","kube_ownerref_name":"j","kube_job":"j"`},
		{timeline.Owner{Kind: "DaemonSet", Name: "d"}, timeline.Owner{Kind: "DaemonSet", Name: "d"},
			`,"kube_ownerref_kind":"daemonset","kube_ownerref_name":"d","kube_daemon_set":"d"`},
		{timeline.Owner{Kind: "StatefulSet", Name: "s"}, timeline.Owner{Kind: "StatefulSet", Name: "s"},
			`,"kube_ownerref_kind":"statefulset","kube_ownerref_name":"s","kube_statefulset":"s"`},
	} {
		tl := timeline.Timeline{CreatedAt: now, Owner: test.owner, Traits: timeline.Traits{Controller: test.controller}}
		line, err := json.Marshal(transition.Lines(tl, now)[0])
		if want := `"pod_name":""` + test.want + `,"pod":`; err != nil || !bytes.Contains(line, []byte(want)) {
			t.Errorf("%v, no %s in %s", err, want, line)
		}
	}
}

func TestAlreadyPresentIsFromEvidence(t *testing.T) {
	for outcome, want := range map[imagepull.Outcome]string{
		imagepull.OutcomePresent: `"already_present":true,"started_timestamp":"2026-03-01T12:01:00.000000000Z",` +
			`"finished`,
		imagepull.OutcomeVerified: `"already_present":true,"started_timestamp":"2026-03-01T12:01:00.000000000Z",` +
			`"finished`,
		imagepull.OutcomeDownloaded: `"already_present":false,"started_timestamp":"2026-03-01T12:01:00.000000000Z",` +
			`"finished`,
		imagepull.OutcomeJoined: `"already_present":false,"started_timestamp":"2026-03-01T12:01:00.000000000Z",` +
			`"finished`,
		imagepull.OutcomeUnknown: `"image_pull":{"started_timestamp":"2026-03-01T12:01:00.000000000Z","finished`,
		imagepull.OutcomeFailed:  `"image_pull":{"started_timestamp":"2026-03-01T12:01:00.000000000Z"}`,
	} {
		tl := timeline.Timeline{
			CreatedAt: now,
			Reached: timeline.Reached{
				Containers: []timeline.ContainerReached{{Name: "app", Kind: timeline.KindMain}}},
			Pulls: []timeline.Pull{{Container: "app", Outcome: outcome, RequestedAt: now,
				FinishedAt: now.Add(time.Second)}},
		}
		lines := startuptest.Lines(t, transition.Lines, tl, now)
		if last := lines[len(lines)-1]; !bytes.Contains(last, []byte(want)) {
			t.Errorf("%s: no %s in %s", outcome, want, last)
		}
	}
}

// TestChangedImage has a container whose image changed after a failed pull. The record of the pull is about the last
// image, and leaves out the attempts to pull the image before.
func TestChangedImage(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	pull := func(attempt int, image string, from int) timeline.Pull {
		return timeline.Pull{Container: "app", Image: image, Attempt: attempt, RequestedAt: at(from),
			FinishedAt: at(from + 1), Outcome: imagepull.OutcomeFailed}
	}
	last := pull(2, "new/app:2", 30)
	last.Outcome = imagepull.OutcomeDownloaded
	earlier := []timeline.Pull{pull(0, "old/app:1", 1), pull(1, "old/app:1", 10)}
	unknown := last
	unknown.Image = imagepull.UnknownImage
	for name, test := range map[string]struct {
		pulls []timeline.Pull
		want  string // image and start of the record; empty without a record
	}{
		"new image":     {append(earlier, last), "new/app:2 30"},
		"old image":     {earlier, "old/app:1 1"},
		"unknown image": {append(earlier, unknown), ""},
	} {
		tl := timeline.Timeline{Pulls: test.pulls}
		tl.Containers = []timeline.ContainerReached{{Name: "app", Image: "new/app:2", Kind: timeline.KindMain}}
		got := ""
		for _, line := range transition.Lines(tl, at(60)) {
			if r, ok := line.(transition.Record); ok && r.Metrics.ImagePull != nil {
				got = fmt.Sprintf("%s:%s %d", r.Metrics.ImageName, r.Metrics.ImageTag,
					r.Metrics.ImagePull.StartedAt.Unix())
			}
		}
		got = strings.TrimPrefix(got, "docker.io/")
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
