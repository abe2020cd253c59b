package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

// registriesConfig selects agents and the format of the list of registries.
type registriesConfig struct{ listConfig }

func (c *registriesConfig) table() flags.Table {
	return slices.Concat(c.noNamespaces("registries"), c.listOutput.table(orderNames(registryOrders())),
		c.target.table())
}

func runRegistries(ctx context.Context, call Call) int {
	var c registriesConfig
	agentQuery, _, code, ok := begin(call, c.table(), &c.target, c.check, 0)
	if !ok {
		return code
	}
	defer agentQuery.close()
	return show(ctx, agentQuery, registriesView(), c.listOutput, c.limit, agentQuery.registries)
}

// registries queries the totals of the past hour. To compare a registry on a node, package factor needs enough pulls
// from the node's other registries. If the past hour contains too few of these pulls, the method also queries the
// totals of the 24 hours before the past hour. The second query excludes agents that did not respond to the first
// query. So the command waits only once for an agent that does not respond.
func (a agentQuery) registries(ctx context.Context) ([]factor.Registry, []error, error) {
	found, err := a.agents(ctx, a.target.node)
	if err != nil {
		return nil, nil, err
	}
	hourAgo := a.Now().Add(-factor.Window)
	fleet := factor.NewFleet()
	found, failed, err := eachAgent(ctx, a, found, totalsIn(factor.TimeWindow{Since: hourAgo}),
		func(response agents.Result[api.TotalsRecord]) {
			fleet.Add(cmp.Or(response.Agent.Node, response.Value.Node), response.Value)
		})
	if err == nil && fleet.NeedsPast() {
		var failedPast []error
		_, failedPast, err = eachAgent(ctx, a, found,
			totalsIn(factor.TimeWindow{Since: hourAgo.Add(-factor.Past), Until: hourAgo}),
			func(response agents.Result[api.TotalsRecord]) { fleet.AddPast(response.Value) })
		failed = append(failed, failedPast...)
	}
	if err != nil {
		return nil, nil, err
	}
	return fleet.Registries(), failed, nil
}

// totalsIn returns the function that queries the totals of one agent.
func totalsIn(window factor.TimeWindow) func(context.Context, client.Client) (api.TotalsRecord, error) {
	return func(ctx context.Context, c client.Client) (api.TotalsRecord, error) { return totalsOf(ctx, c, window) }
}

func registriesView() view[factor.Registry] {
	type registry = factor.Registry
	count := func(value func(registry) int) func(registry) string {
		return func(r registry) string { return fmt.Sprint(value(r)) }
	}
	duration := func(value func(registry) api.Seconds) func(registry) string {
		return func(r registry) string {
			if r.Pulls == 0 {
				return "-"
			}
			return render.SecondsText(value(r).Duration())
		}
	}
	return view[registry]{
		columns: []column[registry]{
			{title: "REGISTRY", shorten: terminal.ClipStart, cell: registryName},
			{title: "FACTOR", right: true, cell: func(r registry) string { return factorText(r.Factor) },
				style: func(r registry) terminal.Style { return factorStyle(r.Factor, slowRegistry) }},
			{title: "PULLS", right: true, cell: count(func(r registry) int { return r.Pulls })},
			{title: "FAILURES", right: true, cell: count(func(r registry) int { return r.Failures })},
			{title: "P50", right: true, cell: duration(func(r registry) api.Seconds { return r.P50 })},
			{title: "P90", right: true, cell: duration(func(r registry) api.Seconds { return r.P90 })},
			{title: "IN PROGRESS", right: true, optional: true,
				cell: count(func(r registry) int { return r.InProgress })},
			{title: "NODES", wide: true, right: true, cell: count(func(r registry) int { return r.Nodes })},
			{title: "SIZE", wide: true, right: true, cell: func(r registry) string { return render.SizeText(r.Bytes) }},
			{title: "NOTE", shorten: terminal.Clip, optional: true,
				cell: func(r registry) string { return terminal.Clean(r.Why) }},
		},
		orders: registryOrders(), empty: "no pulls in the past hour",
		resource: func(r registry) (namespace, name string) { return "", "registry/" + r.Registry },
		object:   func(r registry) any { return r },
		whole: func(registries []registry) any {
			return struct {
				Items []registry `json:"items"`
			}{append([]registry{}, registries...)}
		},
		id: registryName,
		state: func(r registry) string {
			return strings.Join([]string{factorState(r.Factor), fmt.Sprint(r.Pulls, r.Failures, r.InProgress)}, "|")
		},
	}
}

func registryName(r factor.Registry) string { return terminal.Clean(r.Registry) }

func registryOrders() []order[factor.Registry] {
	return []order[factor.Registry]{
		{"factor", bySize(func(r factor.Registry) float64 { return number(r.Factor) })},
		{"pulls", bySize(func(r factor.Registry) int { return r.Pulls })},
		{"failures", bySize(func(r factor.Registry) int { return r.Failures })},
		{"duration", bySize(func(r factor.Registry) api.Seconds { return r.P90 })},
		{"size", bySize(func(r factor.Registry) int64 { return r.Bytes })},
		{"name", byText(registryName)},
	}
}
