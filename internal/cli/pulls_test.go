package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

// TestAgeOfPullIsNeitherQueueNorPull has a pull without content and a completed pull. The pull without content either
// waits in the node's queue or for the registry. So the table must show its age in neither QUEUE nor PULL.
func TestAgeOfPullIsNeitherQueueNorPull(t *testing.T) {
	completed := api.PullRecord{Container: "app", Image: "quay.example/web:1", Outcome: imagepull.OutcomeDownloaded,
		Queue: new(api.Seconds(19 * time.Second)), Pull: new(api.Seconds(2 * time.Second)),
		Error: new(api.Seconds(0))}
	agent := &fakeAgent{node: "worker-1", pulls: api.PullList{
		Items: []api.LivePullRecord{{Namespace: "shop", Pod: "web-0", Container: "app", Image: "quay.example/web:1",
			Outcome: imagepull.OutcomePulling, State: api.PullStateQueued, Age: api.Seconds(19200 * time.Millisecond)}},
		Recent: []api.RecentPullRecord{{Namespace: "shop", Pod: "web-1", PullRecord: completed}},
	}}
	got := atNoon(t, clusterOf(t, []*fakeAgent{agent}), "pulls")
	var rows []string
	for line := range strings.Lines(got.stdout) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"NODE POD CONTAINER STATE AGE QUEUE PULL ACCURACY SIZE IMAGE",
		"worker-1 shop/web-0 app queued 19.2 s - - - - quay.example/web:1",
		"worker-1 shop/web-1 app downloaded - 19.000 s 2.000 s ±0.000 s - quay.example/web:1",
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got.stdout, strings.Join(want, "\n"))
	}
}

// TestNamesAreUnique has pulls of two containers of a pod, mixed with the pull of a pod that has the same name in
// another namespace, and a pull for no pod. -o name must print each pod once.
func TestNamesAreUnique(t *testing.T) {
	pull := func(namespace, pod, container string) api.LivePullRecord {
		return api.LivePullRecord{Namespace: namespace, Pod: pod, Container: container, Image: "a/b",
			Outcome: imagepull.OutcomePulling}
	}
	agent := &fakeAgent{node: "worker-1", pulls: api.PullList{Items: []api.LivePullRecord{pull("shop", "web-0", "app"),
		pull("bank", "web-0", "app"), pull("", "", ""), pull("shop", "web-1", "app"), pull("shop", "web-0", "proxy")}}}
	got := atNoon(t, clusterOf(t, []*fakeAgent{agent}), "pulls", "-o", "name")
	if want := "pod/web-0\npod/web-0\npod/web-1\n"; got.stdout != want {
		t.Errorf("got %q, want %q: %s", got.stdout, want, got.stderr)
	}
}
