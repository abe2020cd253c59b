package timeline

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestAnyEvidencePartitions folds nonsense.
func TestAnyEvidencePartitions(t *testing.T) { eachSeed(t, checkAnyOrder) }

// TestAnyEndPartitions makes ends of nonsense.
func TestAnyEndPartitions(t *testing.T) { eachSeed(t, checkAnyEnd) }

func eachSeed(t *testing.T, check func(*testing.T, *rand.Rand)) {
	for seed := range uint64(3000) {
		if check(t, rand.New(rand.NewPCG(seed, 7))); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// checkAnyOrder folds random observations in two orders. Whatever sources say, phases must partition
// the time to the end, nothing may panic, and order must not matter.
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
	e.Wants(now)
	e.Settled(now)
}

// checkAnyEnd folds ends out of random observations, as they come, at odd moments and with odd clocks.
func checkAnyEnd(t *testing.T, random *rand.Rand) {
	t.Helper()
	var e *Ending
	for _, o := range randomObservations(random) {
		if e == nil {
			e = NewEnding(o)
		} else {
			e.Apply(o)
		}
		if e == nil {
			continue
		}
		for _, now := range []time.Time{base, base.Add(time.Duration(random.Int64N(int64(20 * time.Second)))), base.Add(100 * time.Second)} {
			end := e.Termination(now, Skew{-time.Duration(random.Int64N(int64(time.Second))), time.Duration(random.Int64N(int64(time.Second)))})
			checkEnd(t, end)
			end.Verdict()
			if every := e.AskEvery(now); every < 0 || every > 0 && every < askStopping {
				t.Errorf("ask every %s", every)
			}
		}
	}
}

func randomObservations(random *rand.Rand) []Observation {
	stamp := func() time.Time {
		if random.IntN(4) == 0 {
			return time.Time{}
		}
		return base.Add(time.Duration(random.Int64N(int64(20 * time.Second))))
	}
	second := func() time.Time { return stamp().Truncate(time.Second) }
	flip := func() bool { return random.IntN(2) == 0 }
	name := func() string { return fmt.Sprintf("c%d", random.IntN(4)) }
	kinds := []ContainerKind{KindInit, KindSidecar, KindMain, KindMain}
	states := []ContainerState{StateUnknown, StateWaiting, StateRunning, StateTerminated}
	codes := []int{0, 1, codeKilled, codeSignal + 15, -1, 1 << 40}
	phases := []string{"Pending", "Running", "Running", "Succeeded", "Failed"}

	var observations []Observation
	arrivedAt := base
	for n := range 1 + random.IntN(12) {
		if random.IntN(3) > 0 { // else at the same instant as the one before
			arrivedAt = base.Add(time.Duration(n)*time.Second + time.Duration(random.IntN(1000)))
		}
		switch random.IntN(4) {
		case 0:
			pod := Pod{UID: "uid-1", CreatedAt: base, AcknowledgedAt: second(), Phase: phases[random.IntN(len(phases))],
				ReadinessGates: flip(), Generation: int64(random.IntN(4)), KubeletGeneration: int64(random.IntN(2)),
				FieldsManaged: flip(), HostNetwork: flip(), ResourceClaims: flip(), VolumeClaims: flip(), RemoteVolumes: flip()}
			if random.IntN(3) == 0 {
				pod.UnschedulableAt = second()
			}
			if random.IntN(5) == 0 {
				pod.CreatedAt = second()
			}
			if random.IntN(3) == 0 {
				pod.DeletedAt, pod.DeletionObserved, pod.Finalizers = second(), flip(), flip()
				pod.DeletionGrace = []time.Duration{-1, 0, time.Second, 5 * time.Second, 1<<63 - 1}[random.IntN(5)]
			}
			for _, kind := range []string{"PodScheduled", "PodReadyToStartContainers", "ContainersReady", "Ready"} {
				pod.Conditions = append(pod.Conditions, Condition{kind, random.IntN(4) == 0, second()})
			}
			for i, kind := range kinds {
				pod.Containers = append(pod.Containers, Container{
					Name: fmt.Sprintf("c%d", i), Kind: kind, Image: "image", PullPolicy: PullIfNotPresent,
					StartupProbe: flip(), ReadinessProbe: flip(), PreStopHook: flip(), RestartsAlways: flip(), State: states[random.IntN(len(states))], ExitCode: codes[random.IntN(len(codes))],
					Attempt: random.IntN(20) - 1, StartedAt: second(), FinishedAt: second(), Started: flip(), Ready: flip(),
				})
			}
			observations = append(observations, PodSeen{arrivedAt, flip(), pod})
		case 1:
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
			m := messages[random.IntN(len(messages))]
			observations = append(observations, EventSeen{UID: "uid-1", ArrivedAt: arrivedAt, Live: flip(), Container: name(),
				Reason: m[0], Message: m[1], NamedAt: stamp(), FirstAt: base, LastAt: base.Add(time.Second), Count: random.IntN(4) * random.IntN(1000)})
		case 2:
			o := RuntimeSeen{UID: "uid-1", AskedAt: arrivedAt, ArrivedAt: arrivedAt, NetworkDown: random.IntN(3) == 0, NetworkUp: random.IntN(3) == 0}
			for range random.IntN(3) {
				o.Sandboxes = append(o.Sandboxes, Sandbox{Attempt: random.IntN(3) - 1, Ready: flip(), BegunAt: stamp(),
					NetworkReadyAt: stamp(), RunningAt: stamp(), CreatedAt: stamp(), ImageResolvedAt: stamp(), ImagePulledAt: stamp(), ImageKnown: flip()})
				o.Containers = append(o.Containers, ContainerRun{Name: name(), Attempt: random.IntN(20) - 1,
					CreatedAt: stamp(), StartedAt: stamp(), FinishedAt: stamp(), ExitCode: codes[random.IntN(len(codes))]})
			}
			o.Images = append(o.Images, Image{Ref: "image", Present: flip(), PulledAt: stamp()})
			observations = append(observations, o)
		default:
			observations = append(observations, EventsWatched{"uid-1", arrivedAt, arrivedAt})
			if random.IntN(6) == 0 {
				observations = append(observations, PodGone{"uid-1", arrivedAt, flip()})
			}
		}
	}
	return observations
}
