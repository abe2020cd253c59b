package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/internal/report"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

// totalsOf returns the totals of an agent's start-ups in a time window. If the agent is too old to serve totals, or if
// the user has no permission to get totals, totalsOf adds up the records of the start-ups. If the totals or the records
// have impossible values, totalsOf fails.
func totalsOf(ctx context.Context, c client.Client, window factor.TimeWindow) (api.TotalsRecord, error) {
	totals, err := c.Totals(ctx, window.Since, window.Until)
	if err == nil {
		return totals, impossible("totals", report.CheckTotals(totals))
	}
	if !unknownToAgent(err) && !forbiddenByAgent(err) {
		return totals, err
	}
	sums := factor.NewTotals("", window)
	node, err := addRecords(ctx, c, window.Since, sums.Add)
	if err != nil {
		return api.TotalsRecord{}, err
	}
	totals = sums.Record()
	totals.Node = node
	return totals, nil
}

// addRecords passes the records of an agent's start-ups to the function "add" and returns the agent's node. If a record
// has impossible values, addRecords fails.
func addRecords(ctx context.Context, c client.Client, since time.Time, add func(api.Record)) (node string, err error) {
	var check report.RecordCheck
	for record, err := range c.Pods(ctx, client.Filter{Since: since}) {
		if err == nil {
			err = impossible("records", check.Check(record))
		}
		if err != nil {
			return "", err
		}
		add(record)
		node = record.Node
	}
	return node, nil
}

// impossible adds an explanation to err, which is an error about invalid data from an agent. If err is nil, impossible
// returns nil.
func impossible(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the agent sent invalid %s: %w. Check the version and the log of this agent", what, err)
}

// forbiddenByAgent reports whether an agent with --web-auth=kubernetes refused the user's token for a path. The user
// might still have permission for other paths of the agent.
func forbiddenByAgent(err error) bool {
	var refused *client.Refusal
	return errors.As(err, &refused) && refused.Status == http.StatusForbidden && !refused.Kubernetes &&
		refused.Word == "forbidden"
}
