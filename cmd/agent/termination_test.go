package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// printed collects the lines that an agent writes to standard output.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

// awaitLine waits until the last line is about a pod, and returns all lines.
func (p *printed) awaitLine(t *testing.T, pod string) []string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		lines := strings.Split(strings.TrimSuffix(p.text.String(), "\n"), "\n")
		p.mu.Unlock()
		if strings.Contains(lines[len(lines)-1], `"name":"`+pod+`"`) {
			return lines
		}
		if time.Now().After(deadline) {
			t.Fatalf("no line about %s: %q", pod, lines)
		}
	}
}

// visibleBehavior is an agent's visible behavior during the life of a pod.
type visibleBehavior struct {
	lines      [][]string // all keys of each record
	spans      []string   // names of the spans, each with the name of its parent
	series     []string
	requests   []string // requests to the API server
	afterwards int      // requests to the runtime since the deletion request
	goroutines int
}

const imageStatus = "/runtime.v1.ImageService/ImageStatus"

// awaitImage waits until the runtime has responded to another request about an image, and the agent has received the
// response. The response changes the record of a start-up.
func awaitImage(t *testing.T, cri *critest.Runtime, before int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for ; cri.Calls()[imageStatus] <= before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the runtime was queried about an image %d times, %v", before, cri.Calls())
		}
	}
	time.Sleep(200 * time.Millisecond)
}

// showLife runs an agent while a pod of a Deployment starts, is deleted and stops.
func showLife(t *testing.T, flags ...string) (s visibleBehavior) {
	t.Helper()
	sent, cluster := startCollector(t), podwatchtest.Start(t)
	t.Setenv("OTEL_METRICS_EXPORTER", "none") // otherwise, timing decides whether the agent sends metrics
	cri := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
	var out printed
	a := startInsideWriting(t, cluster, &out,
		append([]string{"--cri-endpoint=" + cri.Endpoint(), "--events=off"}, flags...)...)

	pod := ownedBy("ReplicaSet", "web-7d4b9c6f5", "web-7d4b9c6f5-x2x4k")
	pod.Labels = map[string]string{"pod-template-hash": "7d4b9c6f5"}
	pod.Generation, pod.Status.ObservedGeneration = 1, 1
	cri.PutImage("registry.example/web:2", 1)
	sandbox := critest.Sandbox{ID: "s1", PodUID: string(pod.UID), CreatedAt: time.Now()}
	container := critest.Container{ID: "c1", SandboxID: "s1", PodUID: string(pod.UID), Name: "app",
		CreatedAt: time.Now(), StartedAt: time.Now()}
	cri.PutSandbox(sandbox)
	cri.PutContainer(container)
	cluster.Put(pod)
	awaitImage(t, cri, 0)
	pod = readyPod(pod, container.StartedAt) // in the same second, at any time of day
	cluster.Put(pod)
	out.awaitLine(t, pod.Name)
	time.Sleep(50 * time.Millisecond)
	before := calls(cri)

	deleted := metav1.NewTime(time.Now().Add(30 * time.Second))
	pod = pod.DeepCopy()
	pod.Generation, pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = 2, &deleted, new(int64(30))
	cluster.Put(pod)
	pod = pod.DeepCopy()
	pod.Status.ObservedGeneration = 2
	cluster.Put(pod)
	time.Sleep(1200 * time.Millisecond) // the agent queries the runtime once a second
	container.FinishedAt, container.ExitCode, sandbox.NotReady = time.Now(), 143, true
	cri.PutContainer(container)
	cri.PutSandbox(sandbox)
	pod = pod.DeepCopy()
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 143, Reason: "Error", FinishedAt: metav1.Now()},
	}
	cluster.Put(pod)
	time.Sleep(300 * time.Millisecond)
	s.afterwards = calls(cri) - before
	cluster.Delete(pod)
	next := ownedBy("StatefulSet", "db", "db-0") // the agent reports this pod after all facts about the first pod
	requested := cri.Calls()[imageStatus]
	cluster.Put(next)
	awaitImage(t, cri, requested)
	cluster.Delete(next)

	for _, line := range out.awaitLine(t, next.Name) {
		var record any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		s.lines = append(s.lines, slices.Compact(slices.Sorted(slices.Values(keysOf("", record)))))
	}
	a.awaitMetric(t, "podlapse_sink_sent_total", float64(2*len(s.lines)))
	families, err := a.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			s.series = append(s.series, fmt.Sprint(f.GetName(), m.GetLabel()))
		}
	}
	// Some goroutines end shortly after their work is complete.
	for i := 0; i < 100 && (s.goroutines == 0 || s.goroutines != runtime.NumGoroutine()); i++ {
		s.goroutines = runtime.NumGoroutine()
		time.Sleep(50 * time.Millisecond)
	}
	s.requests = cluster.Requests()
	s.spans = sent.spanNames()
	a.stop()
	return s
}

// spanNames returns the sorted names of all spans, each with the name of its parent.
func (c *collector) spanNames() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	nameByID := map[string]string{}
	for _, span := range c.spans {
		nameByID[string(span.SpanId)] = span.Name
	}
	for _, span := range c.spans {
		names = append(names, span.Name+" under "+nameByID[string(span.ParentSpanId)])
	}
	slices.Sort(names)
	return names
}

func calls(r *critest.Runtime) (all int) {
	for _, n := range r.Calls() {
		all += n
	}
	return all
}

// keysOf returns the paths of all keys in a JSON value.
func keysOf(path string, value any) (keys []string) {
	switch value := value.(type) {
	case map[string]any:
		for key := range maps.Keys(value) {
			keys = append(keys, keysOf(path+"."+key, value[key])...)
		}
	case []any:
		for _, item := range value {
			keys = append(keys, keysOf(path+"[]", item)...)
		}
	default:
		keys = append(keys, path)
	}
	return keys
}

// TestDisabledTerminationAndRolloutsCostNothing compares a default agent with an agent that has the options
// --termination, --rollout-traces and --life-traces. The only differences are a line, spans, and requests to the local
// runtime.
func TestDisabledTerminationAndRolloutsCostNothing(t *testing.T) {
	var off, on visibleBehavior
	t.Run("off", func(t *testing.T) { off = showLife(t) })
	t.Run("on", func(t *testing.T) { on = showLife(t, "--termination", "--rollout-traces", "--life-traces") })
	if off.afterwards != 0 || on.afterwards == 0 {
		t.Errorf("requests to the runtime after the deletion: %d, with --termination: %d", off.afterwards,
			on.afterwards)
	}
	if !slices.Equal(off.requests, on.requests) {
		t.Errorf("requests to the API server: %q, with both options: %q", off.requests, on.requests)
	}
	if !slices.Equal(off.series, on.series) {
		t.Errorf("series %q, with both options %q", off.series, on.series)
	}
	if off.goroutines != on.goroutines {
		t.Errorf("%d goroutines, with both options %d", off.goroutines, on.goroutines)
	}
	if len(off.lines) != 2 || len(on.lines) != 3 {
		t.Fatalf("lines %q, with --termination %q", off.lines, on.lines)
	}
	if slices.ContainsFunc(off.lines[0], func(key string) bool { return strings.HasPrefix(key, ".termination") }) ||
		!slices.Contains(on.lines[1], ".termination.verdict") {
		t.Errorf("lines %q, with --termination %q", off.lines, on.lines)
	}
	if rest := slices.Delete(slices.Clone(on.lines), 1, 2); !reflect.DeepEqual(off.lines, rest) {
		t.Errorf("start-ups %q, with both options %q", off.lines, rest)
	}
	// With both options, each rollout has a span, and the span of the termination is a child of the start-up's span.
	roots := slices.DeleteFunc(slices.Clone(off.spans), func(s string) bool { return !strings.HasSuffix(s, " under ") })
	if want := []string{"pod startup shop/db-0 under ",
		"pod startup shop/web-7d4b9c6f5-x2x4k under "}; !slices.Equal(roots, want) {
		t.Errorf("roots %q", roots)
	}
	for _, span := range off.spans {
		was := strings.Replace(span, " under ", " under rollout shop/", 1)
		if !slices.ContainsFunc(on.spans, func(s string) bool { return s == span || strings.HasPrefix(s, was) }) {
			t.Errorf("with both options, no span %q", span)
		}
	}
	for _, want := range []string{"pod termination shop/web-7d4b9c6f5-x2x4k under pod startup shop/web-7d4b9c6f5-x2x4k",
		"stop of app under pod termination shop/web-7d4b9c6f5-x2x4k", "rollout shop/Deployment/web under "} {
		if !slices.Contains(on.spans, want) || slices.Contains(off.spans, want) {
			t.Errorf("%q is missing with both options, or present without them: %q", want, on.spans)
		}
	}
}
