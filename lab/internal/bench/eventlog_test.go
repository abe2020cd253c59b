package bench

import "testing"

func TestEventLog(t *testing.T) {
	log := EventLog{namespace: "ns"}
	for _, line := range []string{
		`I0102 03:04:05.678901  4711 event.go:389] "Event occurred" object="ns/pod-1" ` +
			`fieldPath="spec.initContainers{init}" kind="Pod" apiVersion="v1" type="Normal" reason="Pulling" ` +
			`message="Pulling image \"r/a:1\""`,
		`I0102 03:04:06.000000  4711 event.go:389] "Event occurred" object="other/pod-1" ` +
			`fieldPath="spec.containers{main}" kind="Pod" apiVersion="v1" type="Normal" reason="Pulling" message="x"`,
		`I0102 03:04:07.000000  4711 event.go:389] "Event occurred" object="ns/pod-2" fieldPath="" kind="Pod" ` +
			`apiVersion="v1" type="Warning" reason="Failed" message="Failed to pull image \"r/b:1\": rpc error"`,
		`I0102 03:04:07.500000  4711 event.go:389] "Event occurred" object="ns/pod-2" fieldPath="" kind="Pod" ` +
			`apiVersion="v1" type="Warning" reason="Failed" message=<`,
		"\tFailed to pull image \"r/b:1\": 403 Forbidden",
		"\tdenied: injected by rule",
		" >",
		`I0102 03:04:08.000000  4711 kubelet.go:1] "SyncLoop ADD" source="api" pods=["ns/pod-1"]`,
	} {
		log.take([]byte(line))
	}
	if len(log.events) != 3 {
		t.Fatalf("got %+v", log.events)
	}
	first, second := log.events[0], log.events[1]
	if first.Pod != "pod-1" || first.Container != "init" || first.Reason != "Pulling" ||
		first.Message != `Pulling image "r/a:1"` ||
		first.At.Local().Format("0102 15:04:05.000000") != "0102 03:04:05.678901" {
		t.Errorf("got %+v", first)
	}
	if second.Pod != "pod-2" || second.Container != "" || second.Message != `Failed to pull image "r/b:1": rpc error` {
		t.Errorf("got %+v", second)
	}
	if third := log.events[2]; third.Message != `Failed to pull image "r/b:1": 403 Forbidden` ||
		third.Reason != "Failed" {
		t.Errorf("got %+v", third)
	}
}
