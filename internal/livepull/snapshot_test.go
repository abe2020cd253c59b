package livepull

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// after adds d to the creation time of the pods in startuptest.
func after(d time.Duration) time.Time { return startuptest.After(d) }

func waiting(pod, image, registry string, since time.Duration) timeline.Timeline {
	return timeline.Timeline{Namespace: "shop", Name: pod, UID: pod, State: timeline.StateStarting,
		Pulls: []timeline.Pull{
			{Container: "setup", Image: "tools", Registry: "docker.io", Outcome: imagepull.OutcomePresent},
			{Container: "app", Image: image, Registry: registry, Outcome: imagepull.OutcomePulling,
				RequestedAt: after(since)},
		}}
}

// busy returns the snapshot of a node that pulls an unrelated image, and one of two images that pods wait for.
func busy() Snapshot {
	return Snapshot{
		Now: after(10 * time.Second),
		Starting: []timeline.Timeline{
			waiting("late", "r.example:5000/shop/web:2", "r.example:5000", 6*time.Second),
			waiting("early", "r.example:5000/shop/web:2", "r.example:5000", 4*time.Second),
			waiting("other", "busybox", "docker.io", 5*time.Second),
		},
		Downloads: []imagepull.Download{
			{Blobs: 1, Registry: "r.example", Repository: "shop/web", DoneBytes: 30, TotalBytes: 100,
				StartedAt: after(5 * time.Second)},
			{Blobs: 1, Registry: "ghcr.io", Repository: "a/b", DoneBytes: 7, StartedAt: after(9 * time.Second)},
		},
	}
}

func TestLivePulls(t *testing.T) {
	second := func(n int) api.Seconds { return api.Seconds(time.Duration(n) * time.Second) }
	want := []api.LivePullRecord{
		{Namespace: "shop", Pod: "early", Container: "app", Image: "r.example:5000/shop/web:2",
			Registry: "r.example:5000",
			Outcome:  imagepull.OutcomePulling, State: api.PullStatePulling, Age: second(6), DoneBytes: 30,
			TotalBytes: 100},
		{Namespace: "shop", Pod: "other", Container: "app", Image: "busybox", Registry: "docker.io",
			Outcome: imagepull.OutcomePulling, State: api.PullStateQueued, Age: second(5)},
		{Namespace: "shop", Pod: "late", Container: "app", Image: "r.example:5000/shop/web:2",
			Registry: "r.example:5000",
			Outcome:  imagepull.OutcomePulling, State: api.PullStateQueued, Age: second(4)},
		{Image: "ghcr.io/a/b", Registry: "ghcr.io", Outcome: imagepull.OutcomeExternal, State: api.PullStatePulling,
			Age: second(1), DoneBytes: 7},
	}
	check(t, busy().Records(), want)

	unknown := busy()
	// A download whose pod is not known yet.
	unknown.Downloads = []imagepull.Download{{Blobs: 1, DoneBytes: 1, StartedAt: after(9 * time.Second)}}
	want = want[:3:3]
	want[0].DoneBytes, want[0].TotalBytes = 0, 0
	states := func(states ...string) []api.LivePullRecord {
		for i, state := range states {
			want[i].State = state
		}
		return want
	}
	check(t, unknown.Records(), states("", "", ""))
	one := unknown
	one.Starting = one.Starting[:2] // both pods wait for the same image
	want[0].DoneBytes = 1
	states(api.PullStatePulling, api.PullStateQueued, api.PullStateQueued)
	check(t, one.Records(), []api.LivePullRecord{want[0], want[2]})

	unknownOutcome := busy() // the Event of the pull has not arrived yet, or never arrives
	unknownOutcome.Starting[0].Pulls[1].Outcome, unknownOutcome.Starting[1].Pulls[1].Outcome = imagepull.OutcomeUnknown,
		imagepull.OutcomeUnknown
	unknownOutcome.Downloads = unknownOutcome.Downloads[:1]
	check(t, unknownOutcome.Records(), []api.LivePullRecord{
		want[1],
		{Namespace: "shop", Pod: "late", Container: "app", Image: "r.example:5000/shop/web:2",
			Registry: "r.example:5000",
			Outcome:  imagepull.OutcomePulling, State: api.PullStatePulling, Age: second(5), DoneBytes: 30,
			TotalBytes: 100},
	})

	unknownOutcome.Downloads = unknown.Downloads // the image of the download is unknown
	unknownOutcome.Starting = unknownOutcome.Starting[:2]
	check(t, unknownOutcome.Records(), nil)
	imported := unknownOutcome // at a time when the name of a pulled image would be known
	imported.Now = after(20 * time.Second)
	if records := imported.Records(); len(records) != 1 || records[0].Outcome != imagepull.OutcomeExternal {
		t.Errorf("an import while pods wait: %+v", records)
	}
	// A pull whose manifest takes a long time.
	imported.Downloads = []imagepull.Download{{Blobs: 1, Digest: "sha256:1", StartedAt: after(9 * time.Second)}}
	check(t, imported.Records(), nil)
	foreign := Snapshot{Now: unknownOutcome.Now, Downloads: unknown.Downloads}
	check(t, foreign.Records(), []api.LivePullRecord{
		{Registry: imagepull.UnknownRegistry, Outcome: imagepull.OutcomeExternal, State: api.PullStatePulling,
			Age: second(1), DoneBytes: 1},
	})

	stale := busy() // the download and its pull ended after the query of the runtime
	p := &stale.Starting[1].Pulls[1]
	p.Outcome, p.FinishedAt = imagepull.OutcomeDownloaded, after(9*time.Second)
	stale.Starting[0].Pulls[1] = *p
	stale.Downloads = stale.Downloads[:1]
	check(t, stale.Records(), want[1:2])

	silent := busy()
	silent.Downloads = nil // the runtime does not report downloads
	want[0].DoneBytes = 0
	for i := range want {
		want[i].State = ""
	}
	check(t, silent.Records(), want)
}

// TestLivePullsOfOneRepository uses parallel pulls from one repository. containerd's labels contain the repository and
// the host, but neither the tag nor the port.
func TestLivePullsOfOneRepository(t *testing.T) {
	digested := "r.example/big@sha256:" + strings.Repeat("2", 64)
	one, two := waiting("one", "r.example/big:1", "r.example", time.Second),
		waiting("two", "r.example/big:2", "r.example", 30*time.Second)
	comes := imagepull.Download{Blobs: 1, Registry: "r.example", Repository: "big",
		Digest: "sha256:" + strings.Repeat("2", 64), DoneBytes: 100,
		TotalBytes: 900, StartedAt: after(30 * time.Second)}
	other := comes
	other.Digest, other.DoneBytes = "sha256:"+strings.Repeat("1", 64), 7
	come := comes
	come.Blobs, come.Complete, come.DoneBytes, come.StartedAt = 0, true, 900, after(2*time.Second)
	partly := come
	partly.Complete, partly.DoneBytes = false, 300
	early := come
	early.StartedAt = after(-5 * time.Second)
	type state struct {
		outcome imagepull.Outcome
		state   string
		done    int64
	}
	for name, test := range map[string]struct {
		starting  []timeline.Timeline
		downloads []imagepull.Download
		want      map[string]state // expected state, by pod
	}{
		"all blobs are complete": {[]timeline.Timeline{one}, []imagepull.Download{come},
			map[string]state{"one": {"pulling", "unpacking", 900}}},
		"the next blob was not requested yet": {[]timeline.Timeline{one}, []imagepull.Download{partly},
			map[string]state{"one": {"pulling", "pulling", 300}}},
		"downloaded before the request": {[]timeline.Timeline{one}, []imagepull.Download{early},
			map[string]state{"one": {"pulling", "queued", 0}}},
		"no pod waits and all blobs are complete": {nil, []imagepull.Download{come}, map[string]state{}},
		"another tag is downloading": {[]timeline.Timeline{one, two}, []imagepull.Download{comes},
			map[string]state{"one": {"pulling", "", 0}, "two": {"pulling", "", 0}}},
		"both tags are downloading": {[]timeline.Timeline{one, two}, []imagepull.Download{comes, other},
			map[string]state{"one": {"pulling", "", 0}, "two": {"pulling", "", 0}}},
		"the same tag in two pods, unpacked": {[]timeline.Timeline{one,
			waiting("two", "r.example/big:1", "r.example", 30*time.Second)}, []imagepull.Download{come},
			map[string]state{"one": {"pulling", "unpacking", 900}, "two": {"pulling", "queued", 0}}},
		"one is requested by digest": {[]timeline.Timeline{one, waiting("two", digested, "r.example", 30*time.Second)},
			[]imagepull.Download{other, comes},
			map[string]state{"one": {"pulling", "pulling", 7}, "two": {"pulling", "pulling", 100}}},
		"registries on two ports": {
			[]timeline.Timeline{waiting("one", "r.example:5000/big:1", "r.example:5000", time.Second),
				waiting("two", "r.example:6000/big:1", "r.example:6000", 30*time.Second)}, []imagepull.Download{comes},
			map[string]state{"one": {"pulling", "", 0}, "two": {"pulling", "", 0}}},
	} {
		l := Snapshot{Now: after(60 * time.Second), Starting: test.starting, Downloads: test.downloads}
		got := map[string]state{}
		for _, r := range l.Records() {
			got[r.Pod] = state{r.Outcome, r.State, r.DoneBytes}
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	since := (Snapshot{Starting: []timeline.Timeline{two, one}}).Since()
	if !since.Equal(after(time.Second - requestSlack)) {
		t.Errorf("a download that started at %s counts as requested", since)
	}
	if since := (Snapshot{}).Since(); !since.IsZero() {
		t.Errorf("no pod waits, but a download that started at %s counts as requested", since)
	}
}

func check(t *testing.T, got, want []api.LivePullRecord) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

// TestDownloadsInBackOffAreExternal uses a pull that failed at 2 s. The kubelet waits until 12 s, so earlier downloads
// do not belong to the pod.
func TestDownloadsInBackOffAreExternal(t *testing.T) {
	failed := timeline.Timeline{Namespace: "shop", Name: "web", State: timeline.StateStarting,
		Pulls: []timeline.Pull{{Container: "app",
			Kind: timeline.KindMain, Image: "ghcr.io/a/b:1", Registry: "ghcr.io", Outcome: imagepull.OutcomeFailed,
			FinishedAt: after(2 * time.Second)}}}
	download := func(from time.Duration) Snapshot {
		return Snapshot{Starting: []timeline.Timeline{failed}, Downloads: []imagepull.Download{
			{Blobs: 1, Registry: "ghcr.io", Repository: "a/b", StartedAt: after(from)}}}
	}
	for _, test := range []struct {
		name     string
		from, at time.Duration
		want     imagepull.Outcome
	}{
		{"begun in back-off", 5 * time.Second, 6 * time.Second, imagepull.OutcomeExternal},
		{"begun in back-off, and the back-off is over", 5 * time.Second, 20 * time.Second, imagepull.OutcomeExternal},
		{"begun before the back-off, seen during it", time.Second, 6 * time.Second, imagepull.OutcomeExternal},
		{"begun before the back-off, seen after it", time.Second, 20 * time.Second, imagepull.OutcomePulling},
		{"begun after the back-off", 15 * time.Second, 20 * time.Second, imagepull.OutcomePulling},
	} {
		l := download(test.from)
		l.Now = after(test.at)
		records := l.Records()
		if len(records) != 1 || records[0].Outcome != test.want ||
			(records[0].Pod == "") != (test.want == imagepull.OutcomeExternal) {
			t.Errorf("%s: %+v, want %s", test.name, records, test.want)
		}
	}
}

func TestPullsAfterTheStartUp(t *testing.T) {
	idle := timeline.IdleContainer{Namespace: "shop", Pod: "web", Container: "app", Image: "ghcr.io/a/b:1",
		Kind: timeline.KindMain, RanUntil: after(4 * time.Second)}
	l := Snapshot{Now: after(10 * time.Second), Idle: []timeline.IdleContainer{idle}}
	if records := l.Records(); len(records) != 0 {
		t.Errorf("without downloads got %+v", records)
	}
	l.Downloads = []imagepull.Download{{Blobs: 1, Registry: "ghcr.io", Repository: "a/b", DoneBytes: 3,
		StartedAt: after(5 * time.Second)}}
	check(t, l.Records(), []api.LivePullRecord{{
		Namespace: "shop", Pod: "web", Container: "app", Kind: timeline.KindMain,
		Restart: true,
		Image:   "ghcr.io/a/b:1", Registry: "ghcr.io", Outcome: imagepull.OutcomePulling, State: api.PullStatePulling,
		Age: api.Seconds(5 * time.Second), DoneBytes: 3}})
	l.Downloads[0].StartedAt = after(3 * time.Second) // the container still ran at this time
	if records := l.Records(); len(records) != 1 || records[0].Outcome != imagepull.OutcomeExternal {
		t.Errorf("a download that started while the container ran: %+v", records)
	}
	debugged := Snapshot{Now: after(10 * time.Second),
		Starting: []timeline.Timeline{{Namespace: "shop", Name: "web", State: timeline.StateReady,
			EphemeralPulls: []timeline.Pull{{Container: "debugger", Kind: timeline.KindEphemeral,
				Image:    "ghcr.io/a/b:1",
				Registry: "ghcr.io",
				Outcome:  imagepull.OutcomePulling, RequestedAt: after(4 * time.Second)}}}}}
	check(t, debugged.Records(),
		[]api.LivePullRecord{{Namespace: "shop", Pod: "web", Container: "debugger", Kind: timeline.KindEphemeral,
			Image: "ghcr.io/a/b:1", Registry: "ghcr.io", Outcome: imagepull.OutcomePulling,
			Age: api.Seconds(6 * time.Second)}})
}
