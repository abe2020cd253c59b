package cli

import (
	"context"
	"errors"
	"net/http"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

// totalsOf returns the totals of an agent's start-ups in a time window. If the agent is too old for totals, or if the
// user has no permission to get totals, totalsOf adds up the records of the start-ups.
func totalsOf(ctx context.Context, c client.Client, window factor.TimeWindow) (api.TotalsRecord, error) {
	totals, err := c.Totals(ctx, window.Since, window.Until)
	if err == nil || !unknownToAgent(err) && !forbiddenByAgent(err) {
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

// forbiddenByAgent reports whether an agent with --web-auth=kubernetes refused the user's token for a path. The user
// might still have permission for other paths of the agent.
func forbiddenByAgent(err error) bool {
	var refused *client.Refusal
	return errors.As(err, &refused) && refused.Status == http.StatusForbidden && !refused.Kubernetes &&
		refused.Word == "forbidden"
}
