package podverify

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/internal/podobjects"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const nodeName = "node-a"

func pod(name, uid string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)},
		Spec:       corev1.PodSpec{NodeName: nodeName, Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
}

// storeOf returns the store of the watch, to which a test delivers events that the server does not send.
func storeOf(t *testing.T, pods *podwatch.Pods) (store cache.ReflectorStore) {
	t.Helper()
	pods.Change(func(now podwatch.Changes) {
		var ok bool
		if store, ok = now.(cache.ReflectorStore); !ok {
			t.Fatalf("%T is not the store of a reflector", now)
		}
	})
	return store
}

// harness is a source with a verifier. The test starts each comparison.
type harness struct {
	*kubeclienttest.Source
	t        *testing.T
	server   *podwatchtest.Server
	verifier *Verifier
	pods     *podwatch.Pods
	objects  *podobjects.Objects
	store    cache.ReflectorStore
	reported []string // the reports of comparisons
}

// startVerified runs the source until its watch has been open for long enough.
func startVerified(t *testing.T, pods ...*corev1.Pod) *harness {
	v := &harness{Source: kubeclienttest.NewSource(t), t: t, server: podwatchtest.Start(t)}
	for _, p := range pods {
		v.server.Put(p)
	}
	v.objects = podobjects.New(v.Clock.Now)
	v.verifier = New(Config{
		Interval: time.Hour, Registerer: prometheus.NewRegistry(), Now: v.Clock.Now,
		Report: func(up bool, detail string) { v.reported = append(v.reported, fmt.Sprint(up, " ", detail)) },
	})
	v.verifier.patience = 50 * time.Millisecond
	v.pods = podwatch.NewPods(podwatch.Config{
		Client: kubeclienttest.Client(t, v.server.URL(), kubeclient.New), NodeName: nodeName, Observe: v.Observe,
		Report: v.Report, Now: v.Clock.Now, Keeper: v.objects, Verifier: v.verifier,
	})
	v.store = storeOf(t, v.pods)
	v.Run(v.pods.Run)
	for range pods {
		v.Next()
	}
	kubeclienttest.Eventually(t, "watching", func() bool { return v.pods.OpenFor(0) && v.server.Watches() == 1 })
	v.Clock.Advance(time.Hour)
	return v
}

// verdict holds the values of the metrics of comparisons.
type verdict struct {
	Complete, Failed, Skipped, Missing, Extra, Stale uint64
	VerifiedAt                                       time.Time // zero means never
}

func verdictOf(verifier *Verifier) verdict {
	v := verifier.verified
	count := func(c prometheus.Counter) uint64 { return uint64(testutil.ToFloat64(c)) }
	found := verdict{
		Complete: count(v.complete), Failed: count(v.failed), Skipped: count(v.skipped),
		Missing: count(v.missing), Extra: count(v.extra), Stale: count(v.stale),
	}
	if testutil.CollectAndCount(v.verifiedAt) > 0 {
		found.VerifiedAt = time.UnixMilli(int64(math.Round(testutil.ToFloat64(v.verifiedAt) * 1000))).UTC()
	}
	return found
}

func (v *harness) verify() verdict {
	v.verifier.verify(v.t.Context(), v.pods)
	return verdictOf(v.verifier)
}

func (v *harness) served() string {
	var text bytes.Buffer
	if err := v.objects.WriteList(&text, func(string, string, string) bool { return true }); err != nil {
		v.t.Fatal(err)
	}
	return text.String()
}

func TestVerifyCompleteWatch(t *testing.T) {
	var many []*corev1.Pod
	for i := range 2*verifyPage + 7 {
		many = append(many, pod(fmt.Sprintf("p-%03d", i), fmt.Sprint("uid-", i)))
	}
	v := startVerified(t, many...)
	if strings.Contains(v.served(), `"verified_at":"`) {
		t.Error("verified before the first comparison")
	}
	before := len(v.server.Requests())
	at := v.Clock.Now()
	if got, want := v.verify(), (verdict{Complete: 1, VerifiedAt: at}); got != want {
		t.Errorf("found %+v, want %+v", got, want)
	}
	if requested := v.server.Requests()[before:]; len(requested) != 3 {
		t.Errorf("207 pods took %q", requested)
	}
	if want := `"verified_at":"` + at.Format(time.RFC3339Nano) + `"`; !strings.Contains(v.served(), want) {
		t.Errorf("no %s", want)
	}
	v.Nothing()
	if want := "true 207 pods match the API server's list"; len(v.reported) != 1 || v.reported[0] != want {
		t.Errorf("reported %q, want %q", v.reported, want)
	}
}

func TestLostChangesAreCountedOnceAndRepaired(t *testing.T) {
	v := startVerified(t, pod("kept", "1"), pod("extra", "2"), pod("stale", "3"), pod("twice", "4"))
	v.server.Lose(func(string, metav1.Object) bool { return true })
	missing := pod("missing", "5")
	v.server.Put(missing)
	v.server.Delete(pod("extra", "2"))
	stale := pod("stale", "3")
	stale.Status.Phase = corev1.PodRunning
	v.server.Put(stale)
	v.server.Delete(pod("twice", "4")) // a new pod uses the same name, so one pod is extra and one is missing
	v.server.Put(pod("twice", "6"))
	got := v.verify()
	if got.Missing != 2 || got.Extra != 2 || got.Stale != 1 || got.Complete != 1 {
		t.Errorf("found %+v", got)
	}
	seen, gone := map[string]string{}, map[string]bool{}
	for range 5 {
		switch o := v.Next().(type) {
		case timeline.PodSeen:
			seen[o.Pod.UID] = o.Pod.Phase
			if o.Live {
				t.Errorf("%s is reported as a live change", o.Pod.Name)
			}
		case timeline.PodGone:
			gone[o.UID] = true
		}
	}
	if len(seen) != 3 || seen["3"] != "Running" || !gone["2"] || !gone["4"] {
		t.Errorf("saw %v, gone %v", seen, gone)
	}
	if again := v.verify(); again.Missing != 2 || again.Extra != 2 || again.Stale != 1 || again.Complete != 2 {
		t.Errorf("found the same difference again: %+v", again)
	}
	if served := v.served(); !strings.Contains(served, `"missing"`) || strings.Contains(served, `"extra"`) {
		t.Errorf("serves %s", served)
	}
	if len(v.reported) != 2 || !strings.HasPrefix(v.reported[0],
		"false repaired: the watch missed 2 pods, 2 deletions and 1 changes") ||
		!strings.HasPrefix(v.reported[1], "true 4 pods") {
		t.Errorf("reported %q", v.reported)
	}
	v.Nothing()
}

// TestWatchDoesNotUndoRepair checks that the agent ignores outdated watch events after a repair, including events about
// deleted pods.
func TestWatchDoesNotUndoRepair(t *testing.T) {
	v := startVerified(t, pod("a", "1"), pod("b", "2"))
	v.server.Lose(func(string, metav1.Object) bool { return true })
	var late []*corev1.Pod
	for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning} {
		a := pod("a", "1")
		a.Status.Phase = phase
		v.server.Put(a)
		late = append(late, v.server.Pod("ns", "a"))
	}
	b := pod("b", "2")
	b.Status.Phase = corev1.PodPending
	v.server.Put(b)
	late = append(late, v.server.Pod("ns", "b"))
	v.server.Delete(b)
	if got := v.verify(); got.Stale != 1 || got.Extra != 1 {
		t.Fatalf("found %+v", got)
	}
	v.Next()
	v.Next()
	for _, old := range late {
		if err := v.store.Update(old); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.store.Delete(late[2]); err != nil {
		t.Fatal(err)
	}
	v.server.Put(pod("c", "3"))
	if got := v.verify(); got.Missing != 1 {
		t.Fatalf("found %+v", got)
	}
	v.Next()
	err := v.store.Replace([]any{late[0]}, late[0].ResourceVersion)
	if err != nil { // a list from an outdated cache of the API server
		t.Fatal(err)
	}
	v.Nothing()
	if len(v.verifier.tombstones) != 0 {
		t.Errorf("tombstones %q", v.verifier.tombstones)
	}
}

// TestSlowWatchIsNotADifference checks a watch that delivers the list's changes while the comparison waits. These
// changes are not differences.
func TestSlowWatchIsNotADifference(t *testing.T) {
	v := startVerified(t, pod("a", "1"), pod("b", "2"))
	v.verifier.patience = 2 * time.Second
	v.server.Lose(func(string, metav1.Object) bool { return true })
	a := pod("a", "1")
	a.Status.Phase = corev1.PodRunning
	v.server.Put(a)
	v.server.Put(pod("c", "3"))
	ended := make(chan verdict, 1)
	go func() { ended <- v.verify() }()
	kubeclienttest.Eventually(t, "listed", func() bool {
		requests := v.server.Requests()
		return strings.HasPrefix(requests[len(requests)-1], "list")
	})
	time.Sleep(100 * time.Millisecond) // time for the API server's response; a longer wait is harmless
	changed, added, short := v.server.Pod("ns", "a"), v.server.Pod("ns", "c"), v.server.Pod("ns", "b")
	_ = v.store.Update(changed)
	_ = v.store.Add(added)
	_ = v.store.Delete(short) // deleted after the list
	v.server.Delete(short)
	if got := <-ended; got.Missing+got.Extra+got.Stale != 0 || got.Complete != 1 {
		t.Errorf("found %+v", got)
	}
}

// TestChangesDuringVerifyAreNotDifferences checks that changes during the second list do not count, because they
// can be temporary.
func TestChangesDuringVerifyAreNotDifferences(t *testing.T) {
	v := startVerified(t, pod("a", "1"), pod("b", "2"))
	v.server.Put(pod("fresh", "3"))
	v.Next()
	version := v.server.Pod("ns", "b").ResourceVersion
	open := map[string]bool{"1": true, "2": true, "3": true, "4": true}
	var found findings
	v.verifier.repair(v.pods,
		listing{version: version, versions: map[string]string{"1": "999", "2": version, "4": version}},
		// The second list lacks pods 1 and 4, which were deleted, and pod 3, which is newer than the list.
		listing{version: version, versions: map[string]string{"2": version}, keep: open,
			objects: map[string]runtime.Object{"2": v.pods.Compact(v.server.Pod("ns", "b"))}},
		&found)
	v.Nothing()
	if found.missing+found.extra+found.stale != 0 {
		t.Errorf("found %+v", found)
	}
}

func TestVerifyFails(t *testing.T) {
	v := startVerified(t, pod("a", "1"))
	v.server.Refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "etcd is away")
	if got := v.verify(); got.Failed != 1 || got.Complete != 0 || !got.VerifiedAt.IsZero() {
		t.Errorf("found %+v", got)
	}
	if len(v.reported) != 1 || !strings.Contains(v.reported[0], "false compare pods with a list: etcd is away") {
		t.Errorf("reported %q", v.reported)
	}
	v.server.BreakWatches()
	v.Until(false, "etcd is away")
	if got := v.verify(); got.Skipped != 1 || got.Failed != 1 {
		t.Errorf("without a watch: %+v", got)
	}
	v.server.Heal()
	v.Until(true, "watching")
	kubeclienttest.Eventually(t, "watching", func() bool { return v.pods.OpenFor(0) })
	if got := v.verify(); got.Skipped != 2 {
		t.Errorf("with a new watch: %+v", got)
	}
	v.Clock.Advance(time.Minute)
	if got := v.verify(); got.Complete != 1 || got.Missing+got.Extra+got.Stale != 0 {
		t.Errorf("without differences: %+v", got)
	}
}

func TestResourceVersionsAreComparedAsNumbers(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{{"9", "10", true}, {"10", "9", false}, {"10", "10", false}, {"", "10", false}, {"x", "10", false},
		{"10", "", false}} {
		if got := isBefore(test.a, test.b); got != test.want {
			t.Errorf("%q before %q: %t", test.a, test.b, got)
		}
	}
}
