package timeline

import (
	"testing"
	"time"
)

// What Events tell of a pull is confirmed by the runtime's answer, or by kubelet's status, and by nothing else.
func TestConfirmedPulls(t *testing.T) {
	const image = "registry.example/web:2"
	at := func(d time.Duration) time.Time { return base.Add(d) }
	answered := func(after time.Duration, i Image) RuntimeSeen {
		i.Ref = image
		return RuntimeSeen{UID: "u", AskedAt: at(after), ArrivedAt: at(after), Images: []Image{i},
			Sandboxes: []Sandbox{{ID: "s", Ready: true, CreatedAt: at(600 * time.Millisecond)}}}
	}
	there := func(pulledAt time.Time) Image {
		return Image{Present: true, FirstPulledAt: pulledAt, PulledAt: pulledAt, Digest: "sha256:aa"}
	}
	long := at(-time.Hour)
	for name, c := range map[string]struct {
		policy  PullPolicy
		runs    bool
		runtime bool
		answers []Observation
		want    bool
	}{
		"Events alone":                           {PullIfNotPresent, false, true, nil, false},
		"the runtime has not got it":             {PullIfNotPresent, false, true, []Observation{answered(time.Second, Image{}), answered(9*time.Second, Image{})}, false},
		"it came":                                {PullIfNotPresent, false, true, []Observation{answered(time.Second, Image{}), answered(9*time.Second, Image{Present: true})}, true},
		"it came before the runtime was asked":   {PullIfNotPresent, false, true, []Observation{answered(9*time.Second, there(at(4*time.Second)))}, true},
		"it was not there, and runs":             {PullIfNotPresent, true, true, []Observation{answered(time.Second, Image{}), answered(9*time.Second, Image{})}, true},
		"it was there":                           {PullIfNotPresent, false, true, []Observation{answered(time.Second, there(long)), answered(9*time.Second, there(long))}, false},
		"it was there, and runs":                 {PullIfNotPresent, true, true, []Observation{answered(time.Second, there(long)), answered(9*time.Second, there(long))}, false},
		"it was pulled again":                    {PullAlways, false, true, []Observation{answered(time.Second, there(long)), answered(9*time.Second, Image{Present: true, FirstPulledAt: long, PulledAt: at(4 * time.Second), Digest: "sha256:aa"})}, true},
		"it runs, and kubelet pulls always":      {PullAlways, true, true, nil, true},
		"it runs, and there is no runtime":       {PullIfNotPresent, true, false, nil, true},
		"it does not run, there is no runtime":   {PullIfNotPresent, false, false, nil, false},
		"it runs, and the runtime was not asked": {PullIfNotPresent, true, true, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEvidence(Scope{Runtime: c.runtime, Events: true})
			container := Container{Name: "app", Kind: KindMain, Image: image, PullPolicy: c.policy}
			see := func(after time.Duration) {
				e.Apply(PodSeen{ArrivedAt: at(after), Live: true, Pod: Pod{UID: "u", RuntimeUID: "u", Namespace: "n", Name: "p", CreatedAt: base,
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
			for _, o := range c.answers {
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
