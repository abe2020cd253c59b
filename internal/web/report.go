package web

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/tally"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// serveReport serves the sums of the past hours, including the start-ups in progress.
func (a readAPI) serveReport(w http.ResponseWriter, r *http.Request, f filter.Filter) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	after, err := previousPosition[itemPosition](r)
	if err != nil {
		return err
	}
	if a.API.Tally == nil {
		return refuse(http.StatusNotFound, "not_found", "the agent keeps no sums for the report: start the agent with "+
			"--history-limit=4MiB")
	}
	timelines, err := ask(a, r, a.Timelines)
	if err != nil {
		return err
	}
	var inProgress []api.Record
	for _, t := range timelines {
		if t.State == timeline.StateStarting {
			inProgress = append(inProgress, api.NewRecord(t))
		}
	}
	report := a.API.Tally.Report(f.Since, inProgress)
	if after != nil || len(f.Namespaces) > 0 {
		report.Totals = nil
	}
	report.Items = slices.DeleteFunc(report.Items, func(item api.ReportItem) bool {
		return !f.MatchesName(filter.Key{Namespace: item.Namespace}) ||
			after != nil && tally.Compare(item, after.itemAt()) <= 0
	})
	if report.Remaining = len(report.Items) - limit; report.Remaining > 0 {
		report.Items = report.Items[:limit]
		report.Continue = continueToken(placeOf(report.Items[limit-1]))
	}
	report.Remaining = max(report.Remaining, 0)
	return respond(w, r, report)
}

// itemPosition is the position of an item in the response of the report. tally.Compare defines the order of the items.
type itemPosition struct {
	Kind      api.ReportKind `json:"k"`
	Namespace string         `json:"n"`
	OwnerKind string         `json:"o"`
	Name      string         `json:"p"`
}

func placeOf(i api.ReportItem) itemPosition {
	return itemPosition{i.Kind, i.Namespace, i.Owner.Kind, cmp.Or(i.Owner.Name, i.Image)}
}

// itemAt returns an item with this position.
func (p itemPosition) itemAt() api.ReportItem {
	return api.ReportItem{Kind: p.Kind, Namespace: p.Namespace, Owner: api.OwnerRecord{Kind: p.OwnerKind, Name: p.Name}}
}

// isValid reports whether a decoded continue token contains a position.
func (p itemPosition) isValid() bool { return p.Kind != "" }
