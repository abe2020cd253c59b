package fleetmetrics

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/internal/report"
)

// maxQueries is the maximum number of queries that run at the same time. Each query uses memory on the server.
const maxQueries = 4

// Read returns the numbers for a report about the fleet. The period of the report ends at the time "until" and has the
// given length. Read rounds the length up to whole hours. Read returns when all queries are done, or when a query
// fails.
func (s *Server) Read(ctx context.Context, until time.Time, length time.Duration) (report.Measured, error) {
	period := newPeriod(until, length)
	m := report.Measured{Since: period.since(), Until: period.until, Hours: period.hours}
	if err := s.run(ctx, period.presenceQueries(), &m); err != nil {
		return report.Measured{}, s.withRemedy(err)
	}
	switch {
	case m.NodeCount == 0:
		return report.Measured{}, s.noAgents()
	case m.RuleHours == 0:
		return report.Measured{}, s.noRules()
	}
	if err := s.run(ctx, period.reportQueries(), &m); err != nil {
		return report.Measured{}, s.withRemedy(err)
	}
	return m, nil
}

// run evaluates several queries at the same time. When all queries are done, run stores the results in m, in the order
// of the argument "queries".
func (s *Server) run(ctx context.Context, queries []query, m *report.Measured) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxQueries)
	results, warnings := make([]model.Vector, len(queries)), make([][]string, len(queries))
	for i, q := range queries {
		group.Go(func() (err error) {
			results[i], warnings[i], err = s.vector(ctx, q.expr, m.Until)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, q := range queries {
		for _, sample := range results[i] {
			q.take(m, sample.Metric, float64(sample.Value))
		}
		m.Warnings = append(m.Warnings, warnings[i]...)
	}
	slices.Sort(m.Warnings)
	m.Warnings = slices.Compact(m.Warnings)
	return nil
}
