package cli

import (
	"context"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

// totalsOf returns the totals of an agent's start-ups in a time window. If the agent is too old to serve totals,
// totalsOf reads the records of the start-ups.
func totalsOf(ctx context.Context, c client.Client, window factor.Span) (api.TotalsRecord, error) {
	totals, err := c.Totals(ctx, window.Since, window.Until)
	if err == nil || !unknownToAgent(err) {
		return totals, err
	}
	sums, node := factor.NewTotals("", window), ""
	for record, err := range c.Pods(ctx, client.Filter{Since: window.Since}) {
		if err != nil {
			return api.TotalsRecord{}, err
		}
		sums.Add(record)
		node = record.Node
	}
	totals = sums.Record()
	totals.Node = node
	return totals, nil
}
