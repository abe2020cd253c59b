package timeline

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestAnyEvidencePartitions folds random observations.
func TestAnyEvidencePartitions(t *testing.T) { eachSeed(t, checkAnyOrder) }

func eachSeed(t *testing.T, check func(*testing.T, *rand.Rand)) {
	for seed := range uint64(3000) {
		if check(t, rand.New(rand.NewPCG(seed, 7))); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// checkAnyOrder folds random observations in two orders. For any observations, phases must cover the time until the end
// without gaps, and no function may panic. The two orders must give the same timeline.
func checkAnyOrder(t *testing.T, random *rand.Rand) {
	t.Helper()
	observations := randomObservations(random)
	e, shuffled := NewEvidence(Scope{Runtime: true, Events: true}), NewEvidence(Scope{Runtime: true, Events: true})
	for _, o := range observations {
		e.Apply(o)
	}
	for _, i := range random.Perm(len(observations)) {
		shuffled.Apply(observations[i])
	}
	now := base.Add(100 * time.Second)
	got, ok := e.Timeline(now, Skew{})
	again, _ := shuffled.Timeline(now, Skew{})
	if !ok {
		return
	}
	checkPartition(t, got)
	if !reflect.DeepEqual(got, again) {
		t.Errorf("order changes the timeline:\n%+v\n%+v", got, again)
	}
	e.Requests(now)
	e.Settled(now)
}

// randomValues draws the fields of random observations.
type randomValues struct{ *rand.Rand }

func (r randomValues) stamp() time.Time {
	if r.IntN(4) == 0 {
		return time.Time{}
	}
	return base.Add(time.Duration(r.Int64N(int64(20 * time.Second))))
}

func (r randomValues) second() time.Time { return r.stamp().Truncate(time.Second) }

func (r randomValues) flip() bool { return r.IntN(2) == 0 }

func (r randomValues) name() string { return fmt.Sprintf("c%d", r.IntN(4)) }

func (r randomValues) code() int {
	codes := []int{0, 1, codeKilled, codeSignal + 15, -1, 1 << 40}
	return codes[r.IntN(len(codes))]
}

func randomObservations(random *rand.Rand) []Observation {
	r := randomValues{random}
	var observations []Observation
	arrivedAt := base
	for n := range 1 + r.IntN(12) {
		if r.IntN(3) > 0 { // otherwise, the observation arrives at the same instant as the previous observation
			arrivedAt = base.Add(time.Duration(n)*time.Second + time.Duration(r.IntN(1000)))
		}
		switch r.IntN(4) {
		case 0:
			observations = append(observations, r.pod(arrivedAt))
		case 1:
			observations = append(observations, r.event(arrivedAt))
		case 2:
			observations = append(observations, r.response(arrivedAt))
		default:
			watched := EventsWatched{UID: "uid-1", ArrivedAt: arrivedAt, OpenedAt: arrivedAt}
			if r.flip() {
				watched.Since = arrivedAt.Add(-time.Duration(r.IntN(3)) * time.Second)
			}
			observations = append(observations, watched)
			if r.IntN(6) == 0 {
				observations = append(observations, PodGone{"uid-1", arrivedAt, r.flip()})
			}
		}
	}
	return observations
}

func (r randomValues) pod(arrivedAt time.Time) PodSeen {
	kinds := []ContainerKind{KindInit, KindSidecar, KindMain, KindMain}
	states := []ContainerState{StateUnknown, StateWaiting, StateRunning, StateTerminated}
	phases := []string{"Pending", "Running", "Running", "Succeeded", "Failed"}
	pod := Pod{UID: "uid-1", CreatedAt: base, AcknowledgedAt: r.second(), Phase: phases[r.IntN(len(phases))],
		ReadinessGates: r.flip(), Generation: int64(r.IntN(4)), KubeletGeneration: int64(r.IntN(2)),
		FieldsManaged: r.flip(), HostNetwork: r.flip(), ResourceClaims: r.flip(), VolumeClaims: r.flip(),
		RemoteVolumes: r.flip()}
	if r.IntN(3) == 0 {
		pod.UnschedulableAt = r.second()
	}
	if pod.Phase == "Failed" && r.flip() {
		pod.FailedBy = r.second()
	}
	if r.IntN(5) == 0 {
		pod.CreatedAt = r.second()
	}
	if r.IntN(3) == 0 {
		pod.DeletedAt, pod.DeletionObserved, pod.Finalizers = r.second(), r.flip(), r.flip()
		pod.DeletionGrace = []time.Duration{-1, 0, time.Second, 5 * time.Second, 1<<63 - 1}[r.IntN(5)]
	}
	for _, kind := range []string{"PodScheduled", "PodReadyToStartContainers", "ContainersReady", "Ready"} {
		pod.Conditions = append(pod.Conditions, Condition{kind, r.IntN(4) == 0, r.second()})
	}
	for i, kind := range kinds {
		pod.Containers = append(pod.Containers, Container{
			Name: fmt.Sprintf("c%d", i), Kind: kind, Image: "image", PullPolicy: PullIfNotPresent,
			StartupProbe: r.flip(), ReadinessProbe: r.flip(), PreStopHook: r.flip(), RestartsAlways: r.flip(),
			State: states[r.IntN(len(states))], ExitCode: r.code(),
			Attempt: r.IntN(20) - 1, StartedAt: r.second(), FinishedAt: r.second(), Started: r.flip(), Ready: r.flip(),
		})
	}
	return PodSeen{arrivedAt, r.flip(), pod}
}

func (r randomValues) event(arrivedAt time.Time) EventSeen {
	messages := [][2]string{
		{"Pulling", `Pulling image "image"`},
		{"Pulled", `Successfully pulled image "image" in 1m2.5s (90s including waiting). Image size: 5 bytes.`},
		{"Pulled", `Container image "image" already present on machine`},
		{"Failed", `Failed to pull image "image": no`},
		{"FailedCreatePodSandBox", `failed to setup network for sandbox "s": no`},
		{"FailedCreatePodSandBox", "no disk"},
		{"FailedCreatePodSandBox", `(combined from similar events): failed to pull image "pause"`},
		{"FailedCreatePodSandBox", "context deadline exceeded"},
		{"NetworkNotReady", "network is not ready: no"},
		{"FailedMount", `MountVolume.SetUp failed for volume "v" : configmap "c" not found`},
		{"FailedMount", `MountVolume.SetUp failed for volume "t" : failed to fetch token: refused`},
		{"FailedMount", "no such disk"},
		{"FailedPrepareDynamicResources", "no driver"},
		{"Killing", "Stopping container c1"},
	}
	m := messages[r.IntN(len(messages))]
	return EventSeen{UID: "uid-1", ArrivedAt: arrivedAt, Live: r.flip(), Container: r.name(),
		Reason: m[0], Message: m[1], NamedAt: r.stamp(), FirstAt: base, LastAt: base.Add(time.Second),
		Count: r.IntN(4) * r.IntN(1000)}
}

func (r randomValues) response(arrivedAt time.Time) RuntimeSeen {
	o := RuntimeSeen{UID: "uid-1", QueriedAt: arrivedAt, ArrivedAt: arrivedAt, NetworkDown: r.IntN(3) == 0,
		NetworkUp: r.IntN(3) == 0}
	for range r.IntN(3) {
		o.Sandboxes = append(o.Sandboxes, Sandbox{Attempt: r.IntN(3) - 1, Ready: r.flip(), BegunAt: r.stamp(),
			NetworkReadyAt: r.stamp(), RunningAt: r.stamp(), CreatedAt: r.stamp(), ImageResolvedAt: r.stamp(),
			ImagePulledAt: r.stamp(),
			ImageKnown:    r.flip(), Unstamped: r.flip(), ImageFirst: r.flip(), ImageStoredAt: r.stamp()})
		o.Containers = append(o.Containers, ContainerRun{Name: r.name(), Attempt: r.IntN(20) - 1,
			CreatedAt: r.stamp(), StartedAt: r.stamp(), FinishedAt: r.stamp(), ExitCode: r.code()})
	}
	o.Images = append(o.Images, Image{Ref: "image", Present: r.flip(), PulledAt: r.stamp()})
	return o
}
