package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

// nodeConfig selects the node and the format of the output.
type nodeConfig struct {
	target
	output
}

func (c *nodeConfig) table() flags.Table {
	return slices.Concat(c.noNamespaces("nodes"), c.output.table(outputTable, outputJSON, outputYAML), c.target.table())
}

// runNode shows the start-up of one node.
func runNode(ctx context.Context, call Call) int {
	var c nodeConfig
	a, rest, code, ok := begin(call, c.table(), &c.target, c.check, 2)
	if !ok {
		return code
	}
	defer a.close()
	name, err := a.nodeName(rest, c.node)
	if err == nil && name == "" && a.direct == nil {
		err = errors.New("the command requires a node name or --server: to list the nodes, run the command \"nodes\"")
	}
	if err != nil {
		return call.FailUsage(err)
	}
	a.target.node = name
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	responses, _, err := ofAgents(ctx, a, func(ctx context.Context, agent client.Client) (
		api.NodeStartUpRecord, error) {
		return agent.NodeStartUp(ctx)
	})
	if err != nil {
		return a.fail(err)
	}
	text, err := c.text(responses[0].Value, c.page(a.Stdout, a.Getenv))
	if err != nil {
		return a.fail(err)
	}
	return a.print(text, nil)
}

// text formats the record.
func (c *nodeConfig) text(record api.NodeStartUpRecord, page terminal.Page) (string, error) {
	switch c.format {
	case outputJSON:
		return terminal.JSON(record)
	case outputYAML:
		return terminal.YAML(record)
	}
	return render.NodeStartUp(record, page), nil
}
