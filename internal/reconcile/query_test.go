package reconcile

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestQueriesAfterChanges changes a pod shortly after the runtime responded about it. A change without a new container
// run waits for a query, and a new run does not.
func TestQueriesAfterChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		_, observe, stop := start(t, d, timeline.Scope{Runtime: true})
		defer stop()
		pod := object()
		see := func() { observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod}) }
		see()
		response := timeline.RuntimeSeen{UID: pod.UID, QueriedAt: time.Now(), ArrivedAt: time.Now(),
			Images: []timeline.Image{{Ref: "cold", Present: true, Digest: "sha256:1"}}}
		observe(response)
		expect(t, d, "query runtime-1 [cold]")

		time.Sleep(300 * time.Millisecond)
		pod.AcknowledgedAt = time.Now().Truncate(time.Second)
		see()
		expect(t, d)

		time.Sleep(300 * time.Millisecond)
		running := ready(pod)
		running.Conditions = pod.Conditions
		running.Containers[0].Ready = false
		pod = running
		see()
		expect(t, d, "query runtime-1 []")
	})
}
