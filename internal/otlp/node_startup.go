package otlp

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/internal/nodestart"
	"github.com/podlapse/podlapse/pkg/api"
)

// nodeStartUpID returns the ID of a node's start-up. The ID consists of the node's name and the boot ID of the machine.
// The node's name is necessary, because several nodes can run on one machine, for example with kind. If the boot ID is
// unknown, the ID contains the boot time instead.
func nodeStartUpID(r api.NodeStartUpRecord) string {
	return r.Node + "/" + cmp.Or(r.ID, strconv.FormatInt(r.BootedAt.Unix(), 10))
}

// nodeStartUpOf returns the trace of a node's start-up. Parents come first.
func nodeStartUpOf(r api.NodeStartUpRecord) []span {
	spans := []span{nodeRootOf(r)}
	spans = append(spans, nodePhasesOf(r)...)
	spans = append(spans, nodePodsOf(r)...)
	if r.Reconstructed {
		for i := range spans {
			spans[i].attributes = append(spans[i].attributes, attribute.Bool(keyReconstructed, true))
		}
	}
	return limitSpans(spans)
}

// nodeRootOf returns the span of the whole start-up, from the boot until the end of the last phase. Each span event is
// a message of a Node condition. The message says why the node was not ready.
func nodeRootOf(r api.NodeStartUpRecord) span {
	attributes := append(nodeAttributes(r),
		attribute.String(keyKind, kindNodeStartup),
		text(keyID, r.ID),
		text(keyState, r.State),
		text(keyVerdict, r.Verdict),
		seconds(keyError, r.TotalError.Duration()),
	)
	attributes = appendList(attributes, keyMissing, r.Missing)
	root := span{key: rootKey, name: "node start-up", start: r.BootedAt.Time, end: endOf(r)}
	for _, n := range r.NotReady {
		name := "node not ready"
		if n.Condition == nodestart.NetworkUnavailable {
			name = "network unavailable"
		}
		root.events = append(root.events, event{name: name, at: n.SeenAt.Time,
			attributes: withoutEmpty(text(keyMessage, n.Message))})
	}
	if r.State == string(nodestart.StateGivenUp) {
		root.failure = "no workload pod was ready within an hour"
		attributes = append(attributes, text(string(semconv.ErrorTypeKey), r.State))
	}
	root.attributes = withoutEmpty(attributes...)
	return root
}

// endOf returns the end of the start-up, which is also the end of the last phase.
func endOf(r api.NodeStartUpRecord) time.Time { return r.BootedAt.Add(r.Total.Duration()) }

// nodePhasesOf returns the phases as child spans of the start-up. Together, the phases cover the whole start-up. If the
// node waits for a pod, the phase can have steps. The steps are the phases of the pod's start-up. A phase with steps is
// one span, and the steps are the children of this span.
func nodePhasesOf(r api.NodeStartUpRecord) []span {
	var spans []span
	times := map[string]int{}
	for rest := r.Phases; len(rest) > 0; {
		first, n := rest[0], 1
		for first.Step != "" && n < len(rest) && isSamePod(first, rest[n]) {
			n++
		}
		key := strings.Join([]string{kindNodePhase, first.Phase, first.Pod, first.Taint}, "/")
		if times[key]++; times[key] > 1 {
			// A phase can repeat. Each phase needs a unique key, because the keys of its steps begin with this key.
			key += "/" + strconv.Itoa(times[key])
		}
		spans = append(spans, nodePhaseOf(r, rest[:n], key)...)
		rest = rest[n:]
	}
	return spans
}

// isSamePod returns true if the record b is a step, and if a and b have the same pod, phase, taint and owner.
func isSamePod(a, b api.NodePhaseRecord) bool {
	return b.Step != "" && a.Phase == b.Phase && a.Pod == b.Pod && a.Taint == b.Taint && a.Owner == b.Owner
}

// nodePhaseOf returns the span of a phase, and the spans of the phase's steps. The error bound of a phase with steps is
// the sum of the steps' error bounds. If a phase has steps, only the steps have causes and sources.
func nodePhaseOf(r api.NodeStartUpRecord, steps []api.NodePhaseRecord, key string) []span {
	whole := steps[0]
	if whole.Step == "" {
		made := nodeSpanOf(r, whole, kindNodePhase)
		made.key, made.parent = key, rootKey
		return []span{made}
	}
	last := steps[len(steps)-1]
	whole.Step, whole.Cause, whole.Sources, whole.Candidates, whole.Error = "", "", nil, nil, 0
	whole.EndAt = last.EndAt
	spans := []span{{}}
	for _, step := range steps {
		whole.Error += step.Error
		made := nodeSpanOf(r, step, kindNodeStep)
		made.key, made.parent = key+"/"+kindNodeStep+"/"+string(step.Step), key
		spans = append(spans, made)
	}
	spans[0] = nodeSpanOf(r, whole, kindNodePhase)
	spans[0].key, spans[0].parent = key, rootKey
	return spans
}

// nodeSpanOf returns the span of a phase or of a step. The caller sets the key and the parent of the span. The span of
// a phase has the name of the node's phase. The span of a step has the name of a phase of the pod's start-up.
func nodeSpanOf(r api.NodeStartUpRecord, p api.NodePhaseRecord, kind string) span {
	taintOwner := p.Owner
	if p.Taint == "" { // without a taint, p.Owner can only list DaemonSets that install the network
		taintOwner = ""
	}
	attributes := append(nodeAttributes(r),
		attribute.String(keyKind, kind),
		text(keyPhase, p.Phase),
		text(keyCause, string(p.Cause)),
		text(keyTaint, p.Taint),
		text(keyTaintOwner, taintOwner),
		seconds(keyError, p.Error.Duration()),
	)
	if namespace, name, ok := strings.Cut(p.Pod, "/"); ok {
		attributes = append(attributes, podNamed(r, namespace, name)...)
	}
	attributes = appendList(attributes, keySources, p.Sources)
	attributes = appendList(attributes, keyCandidates, p.Candidates)
	return span{name: validText(cmp.Or(string(p.Step), p.Phase)), start: p.StartAt.Time, end: p.EndAt.Time,
		attributes: withoutEmpty(attributes...)}
}

// nodePodsOf returns a span for the start-up of each DaemonSet pod that was created during the node's start-up.
func nodePodsOf(r api.NodeStartUpRecord) []span {
	var spans []span
	for _, c := range r.DaemonSets {
		end := c.SettledAt.Time
		if end.IsZero() {
			end = endOf(r)
		}
		if !c.CreatedAt.Before(endOf(r)) || end.Before(c.CreatedAt.Time) {
			continue
		}
		attributes := append(nodeAttributes(r),
			attribute.String(keyKind, kindNodePod),
			text(keyState, string(c.State)),
			text(keyVerdict, c.Verdict),
			seconds(keyError, c.TotalError.Duration()),
		)
		attributes = append(attributes, podNamed(r, c.Namespace, c.Name)...)
		if c.Critical {
			attributes = append(attributes, attribute.Bool(keyCritical, true))
		}
		if c.SettledAt.IsZero() {
			attributes = append(attributes, attribute.Bool(keyOpen, true))
		}
		spans = append(spans, span{
			key: kindNodePod + "/" + c.UID, parent: rootKey,
			name:  validText("start-up of pod " + c.Namespace + "/" + c.Name),
			start: c.CreatedAt.Time, end: end, attributes: withoutEmpty(attributes...),
		})
	}
	return spans
}

// nodeAttributes returns the attributes that identify the node. Every span of a node's start-up has these attributes.
func nodeAttributes(r api.NodeStartUpRecord) []attribute.KeyValue {
	return withoutEmpty(text(string(semconv.K8SNodeNameKey), r.Node))
}

// podNamed returns the attributes that identify a pod. The pod's UID and DaemonSet come from the record r of a node's
// start-up.
func podNamed(r api.NodeStartUpRecord, namespace, name string) []attribute.KeyValue {
	uid, daemonSet := "", ""
	for _, c := range r.DaemonSets {
		if c.Namespace == namespace && c.Name == name {
			uid, daemonSet = c.UID, c.DaemonSet
		}
	}
	if w := r.Workload; w != nil && w.Namespace == namespace && w.Name == name {
		uid = w.UID
	}
	return withoutEmpty(
		text(string(semconv.K8SNamespaceNameKey), namespace),
		text(string(semconv.K8SPodNameKey), name),
		text(string(semconv.K8SPodUIDKey), uid),
		text(string(semconv.K8SDaemonSetNameKey), daemonSet),
	)
}
