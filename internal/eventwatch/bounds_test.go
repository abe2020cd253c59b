package eventwatch

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestTextsAreBounded fills every text that the creator of an Event chooses. Each text has 1 MiB.
func TestTextsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	event := kubeletEvent("u", long, at(1))
	event.InvolvedObject.FieldPath, event.Message = "spec.containers{"+long+"}", long
	seen := convertEvent(event, "u", at(0), at(1))
	if size := len(seen.Container) + len(seen.Reason) + len(seen.Message); size > 2*untrusted.MaxMessage {
		t.Errorf("the agent keeps %d bytes of the Event", size)
	}
}

// TestHostileEventsUseLittleMemory sends Events of the largest size that etcd stores. Every client that has
// permission to create Events in the pod's namespace can create these Events.
func TestHostileEventsUseLittleMemory(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	pod := timeline.Pod{UID: "u", Namespace: "ns", Name: "pod", CreatedAt: at(0),
		Containers: []timeline.Container{{Name: "app", Image: "x"}}}
	e := timeline.NewEvidence(timeline.Scope{Events: true})
	e.Apply(timeline.PodSeen{ArrivedAt: at(0), Live: true, Pod: pod})
	var log timeline.PullLog
	seen := newEventCache(maxRemembered)
	before := heap()
	for i := range 40 {
		name := fmt.Sprintf("%08d", i) + strings.Repeat("x", 1<<20)
		for _, created := range [][3]string{
			{"Pulling", "spec.containers{" + name + "}", `Pulling image "x"`},
			{"Pulling", "spec.containers{" + name[:60] + "}", `Pulling image "x"`},
			{"Pulling", "", `Pulling image "` + name + `"`},
			{"Pulled", "spec.containers{app}",
				`Successfully pulled image "` + name[:600] + `" in 1s (1s including waiting)` + name},
			{"Failed", "spec.containers{app}", `Failed to pull image "` + name[:600] + `": ` + name},
			{name, "spec.containers{app}", name},
		} {
			event := kubeletEvent("u", created[0], at(1).Add(time.Duration(i)*time.Second))
			event.InvolvedObject.FieldPath, event.Message = created[1], created[2]
			o := convertEvent(event, "u", at(0), at(1))
			e.Apply(o)
			log.Observe(o, pod)
			seen.add(involved{"ns", "pod", "u"}, keyOf(event), o)
		}
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("240 Events about one pod: the heap grew by %d KiB", grown>>10)
	}
	runtime.KeepAlive(e)
	runtime.KeepAlive(&log)
	runtime.KeepAlive(seen)
}
