package reconcile

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestArrivalOfPods checks which pods have a time of arrival, so that their Event watch can begin at this time.
func TestArrivalOfPods(t *testing.T) {
	for name, test := range map[string]struct {
		live, static, want bool
	}{
		"a new pod":                    {live: true, want: true},
		"a pod from before the agent":  {},
		"a pod that the kubelet reads": {live: true, static: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{mute: true}
				_, observe, stop := start(t, d, timeline.Scope{Events: true, Since: time.Now().Add(-time.Hour)})
				defer stop()
				pod := object()
				if test.static {
					pod.ReadAt = time.Now().Truncate(time.Second)
				}
				arrivedAt := time.Now()
				observe(timeline.PodSeen{ArrivedAt: arrivedAt, Live: test.live, Pod: pod})
				time.Sleep(time.Second)
				observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
				if len(d.arrivals) != 1 || d.arrivals[0].Equal(arrivedAt) != test.want ||
					d.arrivals[0].IsZero() == test.want || (d.announced == 1) != test.want {
					t.Errorf("requested Events of pods that arrived at %v, announced %d pods; the pod arrived at %v",
						d.arrivals, d.announced, arrivedAt)
				}
			})
		})
	}
}
