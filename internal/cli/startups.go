package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxListed is the maximum number of start-ups in a list, for all nodes together.
const maxListed = 20_000

// startUps returns a view, which describes how a command prints a list of start-ups. If the argument "nodes" is true,
// the list has a column with the node.
func startUps(nodes bool, empty string, now func() time.Time) view[api.Record] {
	columns := []column[api.Record]{
		{title: "NODE", shorten: terminal.ClipMiddle, optional: true, cell: nodeOf},
		{title: "POD", shorten: terminal.ClipStart, cell: podOf},
		{title: "STATE", cell: stateText, style: stateStyle},
		{
			title: "TOTAL",
			right: true,
			cell:  func(r api.Record) string { return render.SecondsText(r.Total.Duration()) },
		},
		{title: "ACCURACY", right: true, optional: true,
			cell: func(r api.Record) string { return render.AccuracyText(r.TotalError.Duration()) }},
		{title: "LONGEST PHASE", shorten: terminal.Clip, cell: func(r api.Record) string {
			phase, ok := render.LongestPhase(r)
			if !ok {
				return "-"
			}
			return render.PhaseText(phase) + " " + render.SecondsText(phase.Length.Duration())
		}},
		{title: "CAUSE", cell: causeOf, style: func(r api.Record) terminal.Style {
			phase, _ := render.LongestPhase(r)
			return render.CauseStyle(phase.Cause)
		}},
		{title: "AGE", wide: true, right: true,
			cell: func(r api.Record) string { return render.LengthText(now().Sub(r.CreatedAt.Time)) }},
		{title: "OWNER", wide: true, shorten: terminal.Clip, cell: ownerOf},
		{title: "VERDICT", wide: true, shorten: terminal.Clip,
			cell: func(r api.Record) string { return cmp.Or(terminal.Clean(r.Verdict), "-") }},
	}
	if !nodes {
		columns = columns[1:]
	}
	return view[api.Record]{
		columns: columns, orders: startUpOrders(), empty: empty,
		resource: func(r api.Record) (namespace, name string) { return r.Namespace, "pod/" + r.Name },
		object:   func(r api.Record) any { return r },
		whole: func(records []api.Record) any {
			return api.PodList{Items: append([]api.Record{}, records...)}
		},
		id: func(r api.Record) string { return cmp.Or(r.ID, r.Namespace+"/"+r.Name) },
		state: func(r api.Record) string {
			text := string(r.State) + "|" + r.Reason + "|" + fmt.Sprint(r.GoneAt.IsZero())
			for _, phase := range r.Phases {
				if phase.Open {
					text += fmt.Sprintf("|%s/%s/%d", phase.Phase, phase.Container, phase.Attempt)
				}
			}
			return text
		},
	}
}

func startUpOrders() []order[api.Record] {
	return []order[api.Record]{
		{"duration", longestFirst},
		{"phase", func(x, y api.Record) int {
			p, _ := render.LongestPhase(x)
			q, _ := render.LongestPhase(y)
			return cmp.Or(cmp.Compare(p.Phase, q.Phase), cmp.Compare(q.Length, p.Length))
		}},
		{"cause", byText(causeOf)},
		{"accuracy", bySize(func(r api.Record) api.Seconds { return r.TotalError })},
		{"age", func(x, y api.Record) int { return x.CreatedAt.Compare(y.CreatedAt.Time) }},
		{"state", byText(stateText)},
		{"owner", byText(ownerOf)},
		{"node", byText(nodeOf)},
		{"name", byText(podOf)},
	}
}

// longestFirst puts the longer start-up first, and start-ups of unknown length last.
func longestFirst(x, y api.Record) int {
	unknown := func(r api.Record) int {
		if render.LengthKnown(r.Total.Duration(), r.TotalError.Duration()) {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(unknown(x), unknown(y)), cmp.Compare(y.Total, x.Total))
}

func nodeOf(r api.Record) string { return terminal.Clean(r.Node) }

func podOf(r api.Record) string { return terminal.Clean(r.Namespace + "/" + r.Name) }

func ownerOf(r api.Record) string {
	if r.Owner.Kind == "" {
		return "-"
	}
	return terminal.Clean(r.Owner.Kind + "/" + r.Owner.Name)
}

func causeOf(r api.Record) string {
	phase, _ := render.LongestPhase(r)
	return cmp.Or(terminal.Clean(string(phase.Cause)), "-")
}

func stateText(r api.Record) string {
	state := terminal.Clean(string(r.State))
	if r.Reconstructed {
		state += " (reconstructed)"
	}
	if !r.GoneAt.IsZero() {
		state += " (gone)"
	}
	return state
}

func stateStyle(r api.Record) terminal.Style {
	switch r.State {
	case timeline.StateReady, timeline.StateSucceeded, timeline.StateStarting:
		return ""
	}
	return terminal.Vermillion
}

// records queries the agents for the start-ups that match at least one of the filters. A start-up must not match two of
// the filters, because the result would contain this start-up twice.
func (a agentQuery) records(ctx context.Context, filters ...client.Filter) ([]api.Record, []error, error) {
	responses, failed, err := ofAgents(ctx, a, func(ctx context.Context, c client.Client) ([]api.Record, error) {
		var records []api.Record
		for _, filter := range filters {
			found, err := allRecords(ctx, c, filter)
			if err != nil {
				return nil, err
			}
			records = append(records, found...)
		}
		return records, nil
	})
	if err != nil {
		return nil, nil, err
	}
	var records []api.Record
	for _, response := range responses {
		records = append(records, response.Value...)
	}
	records, failed = cutList(records, failed)
	return records, failed, nil
}

// cutList shortens a list to maxListed items. If cutList removes items, it appends an error with the number of removed
// items to the list "failed".
func cutList[T any](items []T, failed []error) ([]T, []error) {
	if more := len(items) - maxListed; more > 0 {
		return items[:maxListed], append(failed, &omitted{pods: more})
	}
	return items, failed
}

// allRecords reads all pages of one agent's list of start-ups.
func allRecords(ctx context.Context, c client.Client, filter client.Filter) ([]api.Record, error) {
	var records []api.Record
	for record, err := range c.Pods(ctx, filter) {
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// Labels of the pods in a Deployment's ReplicaSet or in a Job.
const (
	hashLabel = "pod-template-hash" // value: the suffix of the ReplicaSet's name
	jobLabel  = "job-name"          // value: the name of the Job
)

// workloadFilters returns filters that select the pods of a workload. The first filter selects the pods whose owner is
// the workload. If a Deployment owns a ReplicaSet, the agents record only the Deployment as the owner of the pods. If a
// CronJob owns a Job, the agents record only the CronJob as the owner of the pods. For a ReplicaSet, a second filter
// therefore selects the Deployment's pods that have the label of this ReplicaSet. For a Job, the second filter selects
// the CronJob's pods that have the label of this Job. The filters do not use the names of pods. Kubernetes shortens
// long names, so the name of a pod does not prove which ReplicaSet or Job created the pod.
func (r resource) workloadFilters() []client.Filter {
	namespaces := []string{r.namespace}
	filters := []client.Filter{{Namespaces: namespaces, Owner: r.kind + "/" + r.name}}
	above, suffix := r.above()
	switch above.Kind {
	case "Deployment":
		return append(filters, client.Filter{Namespaces: namespaces, Owner: above.Kind + "/" + above.Name,
			LabelSelector: hashLabel + "=" + suffix})
	case "CronJob":
		return append(filters, client.Filter{Namespaces: namespaces, Owner: above.Kind + "/" + above.Name,
			LabelSelector: jobLabel + "=" + r.name})
	}
	return filters
}

// above splits the name of a ReplicaSet or a Job, which often has the form OWNER-SUFFIX. For a ReplicaSet, the first
// result is the Deployment with the name OWNER. For a Job, the first result is the CronJob with the name OWNER. The
// returned owner might not exist, or might not own r. The second result is SUFFIX. If r is neither a ReplicaSet nor a
// Job, both results are empty. If the name of r does not have the form OWNER-SUFFIX, both results are also empty.
func (r resource) above() (owner api.OwnerRecord, suffix string) {
	kind := map[string]string{"ReplicaSet": "Deployment", "Job": "CronJob"}[r.kind]
	i := strings.LastIndexByte(r.name, '-')
	if kind == "" || i <= 0 || i == len(r.name)-1 {
		return api.OwnerRecord{}, ""
	}
	return api.OwnerRecord{Kind: kind, Name: r.name[:i]}, r.name[i+1:]
}

// ownedBy reports whether the owner in the record is r, or the Deployment or CronJob that the method "above" returns
// for r.
func (r resource) ownedBy(record api.Record) bool {
	above, _ := r.above()
	return record.Owner == api.OwnerRecord{Kind: r.kind, Name: r.name} ||
		above.Kind != "" && record.Owner == above
}
