package cli

import (
	"context"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/nodestart"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

// waitedDuringStartUp returns a section about the time that a pod waited while its node was starting. If the pod did
// not wait, the result is empty. The result is also empty if the agent has no data about the start-up of its node.
func (a agentQuery) waitedDuringStartUp(ctx context.Context, record api.Record, page terminal.Page) string {
	if !nodestart.MayHaveWaited(record) {
		return ""
	}
	query := func(ctx context.Context, c client.Client) (api.NodeStartUpRecord, error) { return c.NodeStartUp(ctx) }
	response, ok := askNode(ctx, a, record.Node, query)
	if !ok {
		return ""
	}
	return render.WaitedDuringStartUp(nodestart.WaitedDuring(record, response), page)
}

// askNode queries the agent of one node. If the agent does not respond, the result "ok" is false.
func askNode[T any](ctx context.Context, a agentQuery, node string,
	query func(context.Context, client.Client) (T, error)) (value T, ok bool) {
	found, err := a.agents(ctx, node)
	if err != nil || len(found) == 0 {
		return value, false
	}
	response := agents.Each(ctx, found[:1], agentLimit, query)[0]
	return response.Value, response.Err == nil
}
