package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pullsConfig selects pulls and the format of their output.
type pullsConfig struct{ listConfig }

func (c *pullsConfig) table() flags.Table {
	return slices.Concat(c.podTable(), c.listOutput.table(orderNames(pullOrders())), c.target.table())
}

// nodePulls contains the pulls of one node. Node is empty if the command queries one agent at a URL.
type nodePulls struct {
	Node string `json:"node,omitempty"`
	api.PullList
}

// listedPull is a pull in progress or a completed pull. Exactly one of the fields "live" and "recent" is set.
type listedPull struct {
	node   string
	live   *api.LivePullRecord
	recent *api.RecentPullRecord
}

func runPulls(ctx context.Context, call Call) int {
	var c pullsConfig
	agentQuery, _, code, ok := begin(call, c.table(), &c.target, c.check, 0)
	if !ok {
		return code
	}
	defer agentQuery.close()
	var responded []string // nodes whose agents responded
	v := pulls(agentQuery.manyNodes())
	v.whole = func(items []listedPull) any { return pullsResponse(items, responded, agentQuery.manyNodes()) }
	return show(ctx, agentQuery, v, c.listOutput, c.limit,
		func(ctx context.Context) ([]listedPull, []error, error) {
			responses, failed, err := ofAgents(ctx, agentQuery, c.pullsOf)
			var items []listedPull
			responded = nil
			for _, response := range responses {
				items = append(items, listed(response.Agent.Node, response.Value)...)
				responded = append(responded, response.Agent.Node)
			}
			slices.SortStableFunc(items, latestFirst)
			return items, failed, err
		})
}

// pullsOf queries one agent for the pulls in the selected namespace. If the command has a label selector, pullsOf
// removes the pulls of pods that do not match the selector, because agents cannot filter pulls by label.
func (c *pullsConfig) pullsOf(ctx context.Context, agent client.Client) (api.PullList, error) {
	var namespaces []string
	if c.namespace != "" {
		namespaces = append(namespaces, c.namespace)
	}
	list, err := agent.Pulls(ctx, namespaces...)
	if err != nil || c.selector == "" {
		return list, err
	}
	records, err := allRecords(ctx, agent, c.filter())
	if err != nil {
		return api.PullList{}, err
	}
	known := map[string]bool{}
	for _, r := range records {
		known[r.Namespace+"/"+r.Name] = true
	}
	wanted := func(namespace, pod string) bool { return known[namespace+"/"+pod] }
	list.Items = slices.DeleteFunc(list.Items, func(p api.LivePullRecord) bool { return !wanted(p.Namespace, p.Pod) })
	list.Recent = slices.DeleteFunc(list.Recent,
		func(p api.RecentPullRecord) bool { return !wanted(p.Namespace, p.Pod) })
	return list, nil
}

func listed(node string, list api.PullList) []listedPull {
	var items []listedPull
	for i := range list.Items {
		items = append(items, listedPull{node: node, live: &list.Items[i]})
	}
	for i := range list.Recent {
		items = append(items, listedPull{node: node, recent: &list.Recent[i]})
	}
	return items
}

// latestFirst sorts pulls in progress before completed pulls. The longest pull in progress is first. Completed pulls
// are sorted by the time of their end, with the latest pull first.
func latestFirst(x, y listedPull) int {
	switch {
	case x.live != nil && y.live != nil:
		return cmp.Compare(y.live.Age, x.live.Age)
	case x.live != nil:
		return -1
	case y.live != nil:
		return 1
	}
	return y.recent.FinishedAt.Compare(x.recent.FinishedAt.Time)
}

// pulls returns the view of a list of pulls. If the argument "nodes" is true, the list has a column with the node.
func pulls(nodes bool) view[listedPull] {
	columns := []column[listedPull]{
		{title: "NODE", shorten: terminal.ClipMiddle, optional: true,
			cell: func(p listedPull) string { return terminal.Clean(p.node) }},
		{title: "POD", shorten: terminal.ClipStart, cell: listedPull.pod},
		{title: "CONTAINER", shorten: terminal.Clip, optional: true, cell: listedPull.container},
		{title: "STATE", shorten: terminal.Clip, cell: listedPull.stateAndRate, style: listedPull.style},
		{title: "AGE", right: true, optional: true, cell: listedPull.age},
		{title: "QUEUE", right: true, optional: true, cell: func(p listedPull) string { return p.texts().Queue }},
		{title: "PULL", right: true, cell: func(p listedPull) string { return p.texts().Pull }},
		{title: "ACCURACY", right: true, optional: true, cell: func(p listedPull) string { return p.texts().Accuracy }},
		{title: "SIZE", right: true, shorten: terminal.Clip, cell: listedPull.size},
		{title: "IMAGE", shorten: terminal.ClipStart, cell: listedPull.image},
		{title: "REGISTRY", wide: true, shorten: terminal.Clip, cell: listedPull.registry},
	}
	if !nodes {
		columns = columns[1:]
	}
	return view[listedPull]{
		columns: columns, orders: pullOrders(), empty: "no pulls in progress, and no completed pulls",
		resource: func(p listedPull) (namespace, name string) {
			if namespace, name = p.names(); name != "" { // the name is empty if no pod of the node requested the pull
				name = "pod/" + name
			}
			return namespace, name
		},
		object: func(p listedPull) any {
			if p.live != nil {
				return p.live
			}
			return p.recent
		},
		id: func(p listedPull) string {
			id := fmt.Sprintf("%s|%t|%s|%s|%s", p.node, p.live != nil, p.pod(), p.container(), p.image())
			if p.recent != nil { // the names are not unique, because a StatefulSet reuses the names of its pods
				id += fmt.Sprintf("|%d|%d", p.recent.Attempt, p.recent.FinishedAt.UnixNano())
			}
			return id
		},
		state: listedPull.state,
	}
}

func pullOrders() []order[listedPull] {
	return []order[listedPull]{
		{"duration", bySize(listedPull.duration)},
		{"size", bySize(func(p listedPull) int64 {
			if p.live != nil {
				return p.live.TotalBytes
			}
			return p.recent.SizeBytes
		})},
		{"state", byText(listedPull.state)},
		{"image", byText(listedPull.image)},
		{"registry", byText(listedPull.registry)},
		{"node", byText(func(p listedPull) string { return p.node })},
		{"name", byText(listedPull.pod)},
	}
}

// pullsResponse returns the data for -o json and -o yaml. If the argument "several" is true, the data is grouped by
// node.
func pullsResponse(items []listedPull, responded []string, several bool) any {
	nodes := []nodePulls{}
	index := map[string]int{}
	for _, node := range responded {
		index[node] = len(nodes)
		nodes = append(nodes, nodePulls{node, api.PullList{Items: []api.LivePullRecord{},
			Recent: []api.RecentPullRecord{}}})
	}
	for _, item := range items {
		list := &nodes[index[item.node]].PullList
		if item.live != nil {
			list.Items = append(list.Items, *item.live)
		} else {
			list.Recent = append(list.Recent, *item.recent)
		}
	}
	if !several && len(nodes) == 1 {
		return nodes[0].PullList
	}
	return struct {
		Nodes []nodePulls `json:"nodes"`
	}{nodes}
}

func (p listedPull) names() (namespace, name string) {
	if p.live != nil {
		return p.live.Namespace, p.live.Pod
	}
	return p.recent.Namespace, p.recent.Pod
}

func (p listedPull) pod() string {
	namespace, name := p.names()
	if name == "" {
		return "-" // no pod of the node requested the pull
	}
	return terminal.Clean(namespace + "/" + name)
}

func (p listedPull) container() string {
	if p.live != nil {
		return cmp.Or(terminal.Clean(p.live.Container), "-")
	}
	return render.AttemptText(p.recent.Container, p.recent.Attempt)
}

func (p listedPull) texts() render.PullTexts {
	if p.live != nil {
		return render.PullTexts{State: render.LivePullText(*p.live), Queue: "-", Pull: "-", Accuracy: "-"}
	}
	return render.PullTextsOf(p.recent.PullRecord)
}

// For a pull in progress, age returns the time since the kubelet requested the pull. The age has its own column,
// because the agent cannot divide the age between the columns QUEUE and PULL. For example, if a pull has not received
// any content yet, the agent does not know whether the pull waits in the node's queue or for the registry's first
// response.
func (p listedPull) age() string {
	if p.live == nil {
		return "-"
	}
	return render.LengthText(p.live.Age.Duration())
}

func (p listedPull) state() string { return p.texts().State }

// stateAndRate returns the state of a pull. If the rate of a download is known, the result also contains the rate, and
// the remaining time if it is known. With -w, the command prints a row again if the state changes. If only the rate
// changes, the command does not print the row again.
func (p listedPull) stateAndRate() string {
	if p.live != nil {
		return render.LivePullRateText(*p.live)
	}
	return p.state()
}

func (p listedPull) style() terminal.Style {
	switch {
	case p.live != nil && p.live.State == api.PullStateQueued:
		return terminal.Yellow
	case p.live == nil && p.recent.Outcome == imagepull.OutcomeFailed:
		return terminal.Vermillion
	}
	return ""
}

func (p listedPull) size() string {
	if p.live != nil {
		return cmp.Or(render.ProgressText(*p.live), "-")
	}
	return render.SizeText(p.recent.SizeBytes)
}

func (p listedPull) image() string {
	if p.live != nil {
		return terminal.Clean(cmp.Or(p.live.Image, p.live.Registry))
	}
	return terminal.Clean(p.recent.Image)
}

func (p listedPull) registry() string {
	if p.live != nil {
		return terminal.Clean(p.live.Registry)
	}
	return terminal.Clean(p.recent.Registry)
}

func (p listedPull) duration() time.Duration {
	switch {
	case p.live != nil:
		return p.live.Age.Duration()
	case p.recent.Pull != nil:
		return p.recent.Pull.Duration()
	}
	return 0
}

// livePullsOf returns the pulls in progress for pods of a namespace. If namespace is empty, livePullsOf returns all
// pulls.
func livePullsOf(pulls []api.LivePullRecord, namespace string) []api.LivePullRecord {
	if namespace == "" {
		return pulls
	}
	return slices.DeleteFunc(pulls, func(p api.LivePullRecord) bool { return p.Namespace != namespace })
}
