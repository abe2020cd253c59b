package scenario

import (
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// sentStartUp returns a start-up as a record and as a trace. The start-up has two phases. The second phase is a pull.
// The time at which the container "main" was created is accurate to half a second.
func sentStartUp() (agent.Timeline, otlp.Report) {
	at := func(seconds int) time.Time { return start().Add(time.Duration(seconds) * time.Second) }
	timeline := agent.Timeline{ID: "u/0", Namespace: "n", Name: "p", UID: "u", State: agent.Ready, CreatedAt: at(0),
		SettledAt: at(9),
		Verdict:   "9 s", TotalError: "0.5", Owner: agent.Owner{Kind: "Deployment", Name: "d"},
		Missing: []string{"acknowledged"},
		Phases: []agent.Phase{{Phase: "scheduling", Cause: "scheduler", StartAt: at(0), EndAt: at(1), Error: "0.25",
			Sources: []string{"pod_watch"}},
			{Phase: "pull", Cause: "registry", Container: "main", StartAt: at(1), EndAt: at(9), Error: "0",
				MergedWith: []string{"unpack"}}},
		Pulls: []agent.Pull{{Container: "main", Kind: agent.Main, Image: "r/main:1", Registry: "r", Digest: "sha256:bb",
			Outcome:     agent.Downloaded,
			RequestedAt: at(1), StartedAt: at(2), DownloadedAt: at(4), FinishedAt: at(5), QueueSeconds: "1",
			PullSeconds: "3", Error: "0.011",
			SizeBytes: 7, Download: &agent.Download{StartAt: at(2), EndAt: at(4), Seconds: "2", Bytes: 5},
			Unpack: &agent.Unpack{StartAt: at(4), EndAt: at(5), Seconds: "0.75"}, Sources: []string{"event_watch"},
			Layers:    []agent.Layer{{Digest: "sha256:aa", SizeBytes: 5, DownloadedAt: at(4), UnpackedAt: at(5)}},
			BlockedBy: &agent.Blocker{Namespace: "n", Pod: "q", Container: "c", Image: "i", Seconds: "0.5"}}},
		Milestones: []agent.Milestone{
			{Milestone: "container_created", Container: "init", Earliest: at(1), Latest: at(1)},
			{Milestone: "running", Container: "init", Earliest: at(1), Latest: at(1)},
			{Milestone: "finished", Container: "init", Earliest: at(1), Latest: at(1)},
			{Milestone: "pull_requested", Container: "main", Earliest: at(1), Latest: at(1),
				Sources: []string{"event_watch"}},
			{Milestone: "pull_finished", Container: "main", Earliest: at(5), Latest: at(5),
				Sources: []string{"containerd", "event_watch"}},
			{Milestone: "container_created", Container: "main", Earliest: at(6), Latest: at(6).Add(time.Second / 2)},
			{Milestone: "running", Container: "main", Earliest: at(7), Latest: at(7)},
			{Milestone: "container_ready", Container: "main", Earliest: at(8), Latest: at(9)}}}
	span := func(id, parent, kind, name string, from, to int, pairs ...string) otlp.Span {
		s := otlp.Span{TraceID: "t", SpanID: id, Parent: parent, Name: name, StartAt: at(from), EndAt: at(to),
			Attributes: map[string]string{"podlapse.kind": kind, "k8s.namespace.name": "n", "k8s.pod.name": "p",
				"k8s.pod.uid":   "u",
				"k8s.node.name": layout.NodeName},
			Resource: map[string]string{"service.name": "podlapse-agent", "service.version": "v1",
				"service.instance.id": layout.NodeName,
				"k8s.node.name":       layout.NodeName}}
		for i := 0; i < len(pairs); i += 2 {
			s.Attributes[pairs[i]] = pairs[i+1]
		}
		return s
	}
	stated := func(reason, container string, second int) otlp.Event {
		return otlp.Event{Name: reason, At: at(second), Attributes: map[string]string{"k8s.event.reason": reason,
			"k8s.container.name": container, "podlapse.message": "words"}}
	}
	// This command prints the ID: printf 'podlapse owner n/Deployment/d/1' | sha256sum | cut -c1-32
	const rollout = "33fa8ec7d178c117c6ebc200a7e4c374"
	root := span("1", "", "startup", "pod startup n/p", 0, 9, "podlapse.state", "ready", "podlapse.startup.id", "u/0",
		"podlapse.verdict", "9 s",
		"podlapse.error_seconds", "0.5", "podlapse.missing", "acknowledged", "podlapse.owner.kind", "Deployment",
		"podlapse.owner.name", "d",
		"podlapse.owner.revision", "1", "podlapse.rollout.trace_id", rollout, "k8s.deployment.name", "d")
	root.Links = []string{rollout}
	root.Events = []otlp.Event{stated("Created", "init", 1), stated("Started", "init", 1), stated("Pulling", "main", 1),
		stated("Pulled", "main", 5)}
	layer := span("9", "5", "layer", "layer", 2, 5, "podlapse.digest", "sha256:aa", "podlapse.size_bytes", "5")
	layer.Events = []otlp.Event{{Name: "downloaded", At: at(4)}}
	return timeline, otlp.Report{Namespace: "n", Pod: "p", UID: "u", Spans: []otlp.Span{
		root,
		span("2", "1", "phase", "scheduling", 0, 1, "podlapse.cause", "scheduler", "podlapse.attempt", "0",
			"podlapse.error_seconds", "0.25", "podlapse.sources", "pod_watch"),
		span("3", "1", "phase", "pull", 1, 9, "podlapse.cause", "registry", "podlapse.attempt", "0",
			"podlapse.error_seconds", "0", "podlapse.merged_with", "unpack", "k8s.container.name", "main"),
		span("4", "1", "container", "container main", 6, 9, "k8s.container.name", "main", "k8s.container.restart_count",
			"0", "container.image.name", "r/main", "container.image.tags", "1"),
		span("5", "1", "pull", "image pull of main", 1, 5, "podlapse.image", "r/main:1", "podlapse.registry", "r",
			"podlapse.digest", "sha256:bb",
			"podlapse.outcome", agent.Downloaded, "podlapse.attempt", "0", "podlapse.error_seconds", "0.011",
			"podlapse.sources", "event_watch",
			"podlapse.size_bytes", "7", "k8s.container.name", "main", "container.image.name", "r/main",
			"container.image.tags", "1"),
		span("6", "5", "queue", "queue", 1, 2, "podlapse.blocked_by", "n/q c i", "podlapse.blocked_seconds", "0.5"),
		span("7", "5", "download", "download", 2, 4, "podlapse.size_bytes", "5"),
		span("8", "5", "unpack", "unpack", 4, 5, "podlapse.busy_seconds", "0.75"),
		layer,
		span("a", "1", "container", "container init", 1, 1, "k8s.container.name", "init", "k8s.container.restart_count",
			"0"),
	}}
}

// Indexes of the spans in the trace.
const (
	rootAt = iota
	schedulingAt
	pullPhaseAt
	mainAt
	pullAt
	queueAt
	downloadAt
	unpackAt
	layerAt
	initAt
)
