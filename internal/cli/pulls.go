package cli

import (
	"context"
	"slices"

	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

func runPulls(ctx context.Context, call Call) int {
	var c askConfig
	asking, _, code, ok := begin(call, "pulls [flags]\n\nLists the image pulls of each node: pulls in "+
		"progress, then completed pulls, the latest first.",
		c.table(), &c.target, 0)
	if !ok {
		return code
	}
	defer asking.close()
	ctx, stop := context.WithTimeout(ctx, c.limit)
	defer stop()
	answers, failed, err := ofAgents(ctx, asking,
		func(ctx context.Context, agent client.Client) (api.PullList, error) { return agent.Pulls(ctx) })
	if err != nil {
		return asking.fail(err)
	}
	nodes := []render.NodePulls{}
	for _, answer := range answers {
		node := render.NodePulls{PullList: ofNamespace(answer.Value, c.namespace)}
		if asking.several() {
			node.Node = answer.Agent.Node
		}
		nodes = append(nodes, node)
	}
	text, err := c.text(pullsAnswer(nodes, asking.several()), func() string {
		return render.PullTables(nodes, c.page(call.Stdout, call.Getenv))
	})
	if err != nil {
		return asking.fail(err)
	}
	return asking.print(text, failed)
}

// pullsAnswer is the answer of a single agent, or those of all agents with their nodes.
func pullsAnswer(nodes []render.NodePulls, several bool) any {
	if !several && len(nodes) == 1 {
		return nodes[0].PullList
	}
	return struct {
		Nodes []render.NodePulls `json:"nodes"`
	}{nodes}
}

// ofNamespace removes pulls for pods of other namespaces, if a namespace is given.
func ofNamespace(list api.PullList, namespace string) api.PullList {
	if namespace == "" {
		return list
	}
	list.Items = livePullsOf(list.Items, namespace)
	list.Recent = slices.DeleteFunc(list.Recent, func(p api.RecentPullRecord) bool {
		return p.Namespace != namespace
	})
	return list
}

// livePullsOf removes pulls in progress for pods of other namespaces, if a namespace is given.
func livePullsOf(pulls []api.LivePullRecord, namespace string) []api.LivePullRecord {
	if namespace == "" {
		return pulls
	}
	return slices.DeleteFunc(pulls, func(p api.LivePullRecord) bool { return p.Namespace != namespace })
}
