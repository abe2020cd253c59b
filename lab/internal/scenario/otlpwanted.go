package scenario

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// volumeImage is the prefix of an image volume's name in a record.
const volumeImage = "image:"

// ownerKeys maps the kind of an owner to the attribute for the owner's name. The OpenTelemetry semantic conventions
// define these attributes.
var ownerKeys = map[string]string{"Deployment": "k8s.deployment.name", "ReplicaSet": "k8s.replicaset.name",
	"StatefulSet": "k8s.statefulset.name",
	"DaemonSet":   "k8s.daemonset.name", "Job": "k8s.job.name", "CronJob": "k8s.cronjob.name",
	"ReplicationController": "k8s.replicationcontroller.name"}

// wantedOf returns the expected trace of a record. wantedOf takes the owner's revision from the root span, because
// agent.Timeline has no field for the revision.
func wantedOf(t agent.Timeline, root otlp.Span) wantedSpan {
	w := wantedSpan{kind: "startup", name: "pod startup " + t.Namespace + "/" + t.Name, start: exactly(t.CreatedAt),
		end:    exactly(t.SettledAt),
		failed: t.State == agent.Failed || t.State == agent.GivenUp,
		texts: map[string]string{"podlapse.startup.id": t.ID, "podlapse.state": t.State, "podlapse.verdict": t.Verdict,
			"podlapse.missing": strings.Join(t.Missing, ","),
			"podlapse.unreported": strings.Join(
				t.Unreported,
				",",
			), "podlapse.lost_events": strings.Join(t.LostEvents, ","),
			"podlapse.conflicts": ""},
		seconds: map[string]json.Number{"podlapse.error_seconds": t.TotalError}}
	if len(t.Conflicts) > 0 {
		w.texts["podlapse.conflicts"] = strconv.Itoa(len(t.Conflicts))
	}
	if w.failed {
		w.texts["error.type"] = cmp.Or(t.Reason, t.State)
	}
	if t.Owner.Kind != "" {
		revision := root.Attributes["podlapse.owner.revision"]
		rollout := "podlapse owner " + t.Namespace + "/" + t.Owner.Kind + "/" + t.Owner.Name
		if revision != "" {
			rollout += "/" + revision
		}
		w.texts["podlapse.owner.kind"], w.texts["podlapse.owner.name"] = t.Owner.Kind, t.Owner.Name
		w.texts["podlapse.owner.revision"], w.texts["podlapse.rollout.trace_id"] = revision, traceNamed(rollout)
		if key, known := ownerKeys[t.Owner.Kind]; known {
			w.texts[key] = t.Owner.Name
		}
	}
	w.parts = slices.Concat(wantedPhases(t), wantedContainers(t), wantedPulls(t))
	return w
}

func wantedPhases(t agent.Timeline) (all []wantedSpan) {
	for _, p := range t.Phases {
		texts := map[string]string{"podlapse.cause": p.Cause, "podlapse.attempt": strconv.Itoa(p.Attempt),
			"podlapse.sources":     strings.Join(p.Sources, ","),
			"podlapse.merged_with": strings.Join(p.MergedWith, ",")}
		containerTexts(texts, p.Container)
		openText(texts, p.Open)
		all = append(all, wantedSpan{kind: "phase", name: p.Phase, start: exactly(p.StartAt), end: exactly(p.EndAt),
			texts:   texts,
			seconds: map[string]json.Number{"podlapse.error_seconds": p.Error}})
	}
	return all
}

// containerTexts adds one attribute. The value of the attribute is the name of a container or the image of an image
// volume.
func containerTexts(texts map[string]string, container string) {
	key := "k8s.container.name"
	if image, volume := strings.CutPrefix(container, volumeImage); volume {
		key, container = "podlapse.image", image
	}
	texts[key] = container
}

func openText(texts map[string]string, open bool) {
	texts["podlapse.open"] = ""
	if open {
		texts["podlapse.open"] = "true"
	}
}

// wantedContainers returns a span for each container that was created. The span starts at the creation of the
// container. The span ends when the container becomes ready. If the container never becomes ready, the span ends when
// the container's latest run ends. If the latest run does not end, the span ends when the start-up ends. In the
// record, the end of the start-up is an exact time. All other instants are intervals.
func wantedContainers(t agent.Timeline) (all []wantedSpan) {
	var names []string
	for _, m := range t.Milestones {
		if m.Container != "" && !slices.Contains(names, m.Container) {
			names = append(names, m.Container)
		}
	}
	for _, name := range names {
		l := lifeOf(t, name)
		if !l.created {
			continue
		}
		texts := map[string]string{"k8s.container.restart_count": strconv.Itoa(l.runs)}
		containerTexts(texts, name)
		end := exactly(t.SettledAt)
		switch {
		case l.ready:
			end = l.readyIn
		case l.finished && l.ended == l.runs:
			end = l.finishedIn
		}
		openText(texts, !l.ready && !(l.finished && l.ended == l.runs))
		if pulls := t.PullsOf(name); len(pulls) > 0 {
			imageTexts(texts, pulls[0].Image)
		}
		all = append(all, wantedSpan{kind: "container", name: "container " + name, start: l.begunIn, end: end,
			texts:    texts,
			doubtful: l.begunIn.to.IsZero() || l.begunIn.to.After(end.from)})
	}
	return all
}

// life describes the milestones of one container in a record. The bool fields state which milestones exist. The fields
// of type stretch contain the times of these milestones.
type life struct {
	created, ready, finished     bool
	begunIn, readyIn, finishedIn stretch
	// index of the latest run, and index of the latest completed run; the first run has index 0
	runs, ended int
}

func lifeOf(t agent.Timeline, container string) (l life) {
	for _, m := range t.Milestones {
		if m.Container != container {
			continue
		}
		lies := stretch{m.Earliest, m.Latest}
		switch m.Milestone {
		case "container_created", "running":
			l.begunIn, l.runs = earlierStretch(l.created, l.begunIn, lies), max(l.runs, m.Attempt)
			l.created = true
		case "container_ready":
			l.readyIn, l.ready = laterStretch(l.ready, l.readyIn, lies), true
		case "finished":
			l.finishedIn, l.ended = laterStretch(l.finished, l.finishedIn, lies), max(l.ended, m.Attempt)
			l.finished = true
		}
	}
	return l
}

// earlierStretch returns the interval that contains the earlier of two instants. The interval "a" contains one instant,
// and the interval "b" contains the other. If the argument "two" is false, earlierStretch ignores "a" and returns "b".
func earlierStretch(two bool, a, b stretch) stretch {
	if !two {
		return b
	}
	if b.from.Before(a.from) {
		a.from = b.from
	}
	if a.to.IsZero() || !b.to.IsZero() && b.to.Before(a.to) {
		a.to = b.to
	}
	return a
}

// laterStretch returns the interval that contains the later of two instants. The interval "a" contains one instant, and
// the interval "b" contains the other. If the argument "two" is false, laterStretch ignores "a" and returns "b".
func laterStretch(two bool, a, b stretch) stretch {
	if !two {
		return b
	}
	if b.from.After(a.from) {
		a.from = b.from
	}
	if b.to.IsZero() || !a.to.IsZero() && b.to.After(a.to) {
		a.to = b.to
	}
	return a
}

// wantedPulls returns a span for each pull, with its child spans. If a pull is still in progress, its span ends with
// the start-up. A pull has no span if its start or its end is unknown, or if the container is ephemeral.
func wantedPulls(t agent.Timeline) (all []wantedSpan) {
	for _, p := range t.Pulls {
		from, to := p.RequestedAt, p.FinishedAt
		if from.IsZero() {
			from = p.StartedAt
		}
		open := p.Outcome == agent.Pulling && to.IsZero()
		if open {
			to = t.SettledAt
		}
		if p.Kind == agent.Ephemeral || from.IsZero() || to.IsZero() || to.Before(from) {
			continue
		}
		texts := map[string]string{"podlapse.registry": p.Registry, "podlapse.digest": p.Digest,
			"podlapse.outcome": p.Outcome,
			"podlapse.attempt": strconv.Itoa(p.Attempt), "podlapse.sources": strings.Join(p.Sources, ","),
			"podlapse.size_bytes": ""}
		containerTexts(texts, p.Container)
		texts["podlapse.image"] = p.Image
		imageTexts(texts, p.Image)
		openText(texts, open)
		if p.SizeBytes > 0 {
			texts["podlapse.size_bytes"] = strconv.FormatInt(p.SizeBytes, 10)
		}
		w := wantedSpan{kind: "pull", name: "image pull of " + p.Container, start: exactly(from), end: exactly(to),
			failed: p.Outcome == agent.Failed,
			texts:  texts, seconds: map[string]json.Number{"podlapse.error_seconds": ""}, parts: wantedParts(p)}
		if w.failed {
			texts["error.type"] = p.Failure
		}
		if p.PullSeconds != "" {
			w.seconds["podlapse.error_seconds"] = p.Error
		}
		all = append(all, w)
	}
	return all
}

// wantedParts returns the child spans of a pull: the wait in the queue, the download, the unpacking, and one span for
// each layer. The span of a layer starts when the runtime receives the request for the image.
func wantedParts(p agent.Pull) (all []wantedSpan) {
	add := func(w wantedSpan, from, to time.Time) {
		if from.IsZero() || to.IsZero() || to.Before(from) {
			return
		}
		w.name, w.start, w.end = w.kind, exactly(from), exactly(to)
		all = append(all, w)
	}
	if p.QueueSeconds != "" {
		queue := wantedSpan{kind: "queue"}
		if b := p.BlockedBy; b != nil {
			queue.texts = map[string]string{"podlapse.blocked_by": b.Namespace + "/" + b.Pod + " " + b.Container + " " +
				b.Image}
			queue.seconds = map[string]json.Number{"podlapse.blocked_seconds": b.Seconds}
		}
		add(queue, p.RequestedAt, p.StartedAt)
	}
	var bytes int64
	if p.Download != nil {
		bytes = p.Download.Bytes
	}
	add(wantedSpan{kind: "download", texts: map[string]string{"podlapse.size_bytes": strconv.FormatInt(bytes, 10)}},
		p.StartedAt, p.DownloadedAt)
	if u := p.Unpack; u != nil {
		add(wantedSpan{kind: "unpack", seconds: map[string]json.Number{"podlapse.busy_seconds": u.Seconds}}, u.StartAt,
			u.EndAt)
	}
	for _, l := range p.Layers {
		end := l.UnpackedAt
		if l.DownloadedAt.After(end) {
			end = l.DownloadedAt
		}
		add(wantedSpan{kind: "layer", downloaded: l.DownloadedAt,
			texts: map[string]string{"podlapse.digest": l.Digest,
				"podlapse.size_bytes": strconv.FormatInt(l.SizeBytes, 10)}}, p.StartedAt, end)
	}
	return all
}
