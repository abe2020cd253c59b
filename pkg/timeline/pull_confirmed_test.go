package timeline

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// TestConfirmedPulls checks that Events about a pull need confirmation by the runtime's response or the kubelet's
// status.
func TestConfirmedPulls(t *testing.T) {
	const image = "registry.example/web:2"
	at := base.Add
	responded := func(after time.Duration, i Image) RuntimeSeen {
		i.Ref = image
		return RuntimeSeen{UID: "u", QueriedAt: at(after), ArrivedAt: at(after), Images: []Image{i},
			Sandboxes: []Sandbox{{ID: "s", Ready: true, CreatedAt: at(600 * time.Millisecond)}}}
	}
	there := func(pulledAt time.Time) Image {
		return Image{Present: true, FirstPulledAt: pulledAt, PulledAt: pulledAt, Digest: "sha256:aa"}
	}
	long := at(-time.Hour)
	for name, c := range map[string]struct {
		policy    PullPolicy
		runs      bool
		runtime   bool
		responses []Observation
		want      bool
	}{
		"Events alone": {PullIfNotPresent, false, true, nil, false},
		"absent from the runtime": {PullIfNotPresent, false, true,
			[]Observation{responded(time.Second, Image{}), responded(9*time.Second, Image{})}, false},
		"downloaded": {PullIfNotPresent, false, true,
			[]Observation{responded(time.Second, Image{}), responded(9*time.Second, Image{Present: true})}, true},
		"downloaded before the first query": {PullIfNotPresent, false, true,
			[]Observation{responded(9*time.Second, there(at(4*time.Second)))}, true},
		"absent, then running": {PullIfNotPresent, true, true,
			[]Observation{responded(time.Second, Image{}), responded(9*time.Second, Image{})}, true},
		"present": {PullIfNotPresent, false, true,
			[]Observation{responded(time.Second, there(long)), responded(9*time.Second, there(long))}, false},
		"present and running": {PullIfNotPresent, true, true,
			[]Observation{responded(time.Second, there(long)), responded(9*time.Second, there(long))}, false},
		"pulled again": {PullAlways, false, true,
			[]Observation{responded(time.Second, there(long)), responded(9*time.Second,
				Image{Present: true, FirstPulledAt: long, PulledAt: at(4 * time.Second), Digest: "sha256:aa"})}, true},
		"running, with policy Always":              {PullAlways, true, true, nil, true},
		"running, without a runtime":               {PullIfNotPresent, true, false, nil, true},
		"not running, without a runtime":           {PullIfNotPresent, false, false, nil, false},
		"running, and the runtime was not queried": {PullIfNotPresent, true, true, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEvidence(Scope{Runtime: c.runtime, Events: true})
			container := Container{Name: "app", Kind: KindMain, Image: image, PullPolicy: c.policy}
			see := func(after time.Duration) {
				e.Apply(PodSeen{ArrivedAt: at(after), Live: true,
					Pod: Pod{UID: "u", RuntimeUID: "u", Namespace: "n", Name: "p", CreatedAt: base,
						AcknowledgedAt: base, Containers: []Container{container}}})
			}
			see(500 * time.Millisecond)
			if c.runs {
				container.State, container.StartedAt = StateRunning, at(7*time.Second)
				see(8 * time.Second)
			}
			for i, o := range []EventSeen{
				{Reason: "Pulling", Message: `Pulling image "` + image + `"`},
				{Reason: "Pulled", Message: `Successfully pulled image "` + image + `" in 1s (2s including waiting).`},
			} {
				o.UID, o.Container, o.Count = "u", "app", 1
				o.FirstAt = at(time.Duration(3+2*i) * time.Second)
				o.LastAt, o.ArrivedAt = o.FirstAt, o.FirstAt.Add(500*time.Millisecond)
				e.Apply(o)
			}
			for _, o := range c.responses {
				e.Apply(o)
			}
			made, _ := e.Timeline(at(10*time.Second), Skew{})
			pulls := made.Pulls
			if len(pulls) != 1 || pulls[0].Confirmed != c.want {
				t.Errorf("%+v, want confirmed %t", pulls, c.want)
			}
		})
	}
}

// TestOnlyStatusConfirmsFailedPull checks that an unconfirmed Event about a failed pull proves nothing about a
// registry. Only a status of the pod with the same reason confirms the Event, because tenants cannot write the status.
func TestOnlyStatusConfirmsFailedPull(t *testing.T) {
	const start = `
available runtime events
spec main app cold

0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 runtime image cold absent
0.400 runtime sandbox ready begun@0.340 network@0.350 running@0.360
0.510 event app Pulling 'Pulling image "cold"' named@0.500
1.010 event app Failed 'Failed to pull image "cold": 429 Too Many Requests' named@1.000
`
	for name, test := range map[string]struct {
		status      string
		unconfirmed bool
	}{
		"no status yet":          {"", true},
		"with another reason":    {"2.000 pod app waiting reason=ErrImagePull pullfailure=not_found\n", true},
		"with this reason":       {"2.000 pod app waiting reason=ErrImagePull pullfailure=rate_limited\n", false},
		"in back-off, no reason": {"2.000 pod app waiting reason=ImagePullBackOff pullfailure=other\n", true},
		"with both reasons": {"2.000 pod app waiting reason=ErrImagePull pullfailure=rate_limited\n" +
			"12.000 pod app waiting reason=ImagePullBackOff pullfailure=other\n", false},
	} {
		script := parseScript(t, []byte(start+test.status+"at 20\n"))
		got, _ := script.evidence().Timeline(script.asOf, script.skew)
		if pulls := got.Pulls; len(pulls) != 1 || pulls[0].Failure != imagepull.FailureRateLimited ||
			pulls[0].Unconfirmed != test.unconfirmed {
			t.Errorf("%s: %+v", name, pulls)
		}
	}
}

// TestStatusDoesNotConfirmFailureOfOtherImage simulates tenants whose pull of one image really fails. The tenants forge
// the same failure for another image. The other image replaces the first image, or is the image of a volume in the same
// pod.
func TestStatusDoesNotConfirmFailureOfOtherImage(t *testing.T) {
	const evil, honest, why = "evil.example/x:1", "docker.io/library/nginx:1",
		"dial tcp 10.0.0.1:443: connect: connection refused"
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	app := Container{Name: "app", Kind: KindMain, Image: evil, State: StateWaiting}
	refused := app
	refused.WaitingReason, refused.PullFailure = "ErrImagePull", imagepull.FailureConnectionRefused
	changed := refused
	changed.Image = honest
	volume := Container{Name: "content", Kind: KindImageVolume, Image: honest}
	for name, test := range map[string]struct {
		statuses [][]Container
		of       string // the container in the Events about the honest image
	}{
		"changed image": {[][]Container{{app}, {refused}, {changed}}, "app"},
		"image volume":  {[][]Container{{app, volume}, {refused, volume}}, ""},
	} {
		e := NewEvidence(Scope{Runtime: true, Events: true})
		event := func(s float64, container, reason, message string) {
			e.Apply(
				EventSeen{UID: "u", Container: container, Reason: reason, Message: message, NamedAt: second(s),
					FirstAt: second(s),
					LastAt:  second(s), ArrivedAt: second(s + 0.05), Live: true, Count: 1},
			)
		}
		for i, containers := range test.statuses {
			e.Apply(
				PodSeen{
					ArrivedAt: second(float64(i) + 0.5),
					Live:      true,
					Pod: Pod{UID: "u", RuntimeUID: "u", Namespace: "n", Name: "p",
						CreatedAt: base, AcknowledgedAt: base, Containers: containers},
				},
			)
		}
		event(1, "app", "Pulling", `Pulling image "`+evil+`"`)
		event(1.2, "app", "Failed", `Failed to pull image "`+evil+`": `+why)
		event(4, test.of, "Pulling", `Pulling image "`+honest+`"`)
		event(5, test.of, "Failed", `Failed to pull image "`+honest+`": `+why)
		tl, _ := e.Timeline(second(20), Skew{})
		failed := 0
		for _, p := range tl.Pulls {
			if p.Registry == "docker.io" && p.Outcome == imagepull.OutcomeFailed {
				if failed++; !p.Unconfirmed {
					t.Errorf("%s: a status about %s confirms %+v", name, evil, p)
				}
			}
		}
		if failed == 0 {
			t.Errorf("%s: no pull of docker.io failed: %+v", name, tl.Pulls)
		}
	}
}
