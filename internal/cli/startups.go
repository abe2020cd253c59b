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

// startUps returns the view of a list of start-ups. If nodes is true, the list has a column with the node.
func startUps(nodes bool, empty string, now func() time.Time) view[api.Record] {
	columns := []column[api.Record]{
		{title: "NODE", shorten: terminal.Clip, cell: nodeOf},
		{title: "POD", shorten: terminal.ClipStart, cell: podOf},
		{title: "STATE", cell: stateText, style: stateStyle},
		{
			title: "TOTAL",
			right: true,
			cell:  func(r api.Record) string { return render.SecondsText(r.Total.Duration()) },
		},
		{title: "ACCURACY", right: true,
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
		resource: func(r api.Record) string { return "pod/" + r.Name },
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
		{"duration", bySize(func(r api.Record) api.Seconds { return r.Total })},
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

// The method records queries the agents for start-ups.
func (a agentQuery) records(ctx context.Context, filter client.Filter) ([]api.Record, []error, error) {
	answers, failed, err := ofAgents(ctx, a, func(ctx context.Context, c client.Client) ([]api.Record, error) {
		return all(ctx, c, filter)
	})
	if err != nil {
		return nil, nil, err
	}
	var records []api.Record
	for _, answer := range answers {
		records = append(records, answer.Value...)
	}
	if more := len(records) - maxListed; more > 0 {
		records = records[:maxListed]
		failed = append(failed, fmt.Errorf("%d more pods are not shown: select fewer pods with -n, -l or --node", more))
	}
	return records, failed, nil
}

// The function all reads all pages of the list of one agent.
func all(ctx context.Context, c client.Client, filter client.Filter) ([]api.Record, error) {
	var records []api.Record
	for record, err := range c.Pods(ctx, filter) {
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// workloadFilter selects the pods of a workload. If a controller owns a ReplicaSet or a Job, agents know only this
// controller, for example the Deployment. For ReplicaSets and Jobs, the filter therefore selects pods by name, and
// ownedBy checks each answer.
func (r resource) workloadFilter() client.Filter {
	filter := client.Filter{Namespaces: []string{r.namespace}}
	switch r.kind {
	case "ReplicaSet", "Job":
		// The API server cuts the name of a workload at 58 characters before it adds a suffix for the pod.
		const maxPrefix = 58
		filter.Name = (r.name + "-")[:min(len(r.name)+1, maxPrefix)] + "*"
	default:
		filter.Owner = r.kind + "/" + r.name
	}
	return filter
}

// ownedBy reports whether the workload owns the pod of a record. For a ReplicaSet's pod, the owner in the record
// can be the Deployment. For a Job's pod, the owner can be the CronJob. The names then show whether the workload
// owns the pod.
func (r resource) ownedBy(record api.Record) bool {
	above := map[string]string{"ReplicaSet": "Deployment", "Job": "CronJob"}[r.kind]
	return record.Owner.Kind == r.kind && record.Owner.Name == r.name ||
		above != "" && record.Owner.Kind == above && strings.HasPrefix(r.name, record.Owner.Name+"-") &&
			!strings.Contains(strings.TrimPrefix(r.name, record.Owner.Name+"-"), "-")
}
