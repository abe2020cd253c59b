package client

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

const (
	reportPage = 500 // maximum number of items in a response
	// maxReportItems is the maximum number of items in a report. An agent's report stays below this limit: an agent
	// keeps sums for at most 25 hours, with at most 400 named items for each hour.
	maxReportItems = 20_000
)

// Report returns the sums of two kinds of start-ups: the start-ups that ended after the argument "since", and the
// start-ups in progress. The agent keeps sums for whole hours, so the report begins at the start of the hour that
// contains "since". Report fetches all pages. If "since" is zero, the report covers the past 24 hours. If namespaces
// are given, the report contains only the items of these namespaces, and no totals. An agent that is too old for
// /api/v1/report, or that keeps no sums, responds with status 404.
func (c Client) Report(ctx context.Context, since time.Time, namespaces ...string) (api.ReportRecord, error) {
	query := Filter{Since: since, Namespaces: namespaces}.query()
	query.Set("limit", strconv.Itoa(reportPage))
	var report api.ReportRecord
	for {
		page, err := get[api.ReportRecord](ctx, c, query, "report")
		switch {
		case err != nil:
		case page.Items == nil || report.Items == nil && len(namespaces) == 0 && page.Totals == nil:
			err = c.notAnAgent("the response contains no sums")
		case page.Continue != "" && (len(page.Items) == 0 || page.Continue == query.Get("continue")):
			err = c.notAnAgent("the list has no last page")
		case len(report.Items)+len(page.Items) > maxReportItems:
			err = c.notAnAgent(fmt.Sprintf("the response contains more than %d items", maxReportItems))
		}
		if err != nil {
			return api.ReportRecord{}, err
		}
		if report.Items == nil {
			report = page
		} else {
			report.Items = append(report.Items, page.Items...)
		}
		if page.Continue == "" {
			report.Continue, report.Remaining = "", 0
			return report, nil
		}
		query.Set("continue", page.Continue)
	}
}
