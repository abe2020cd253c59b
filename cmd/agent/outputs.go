package main

import (
	"context"
	"io"

	"github.com/podlapse/podlapse/internal/jsonlines"
	"github.com/podlapse/podlapse/internal/otlp"
	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// outputs holds the outputs that report start-ups: metrics, records on standard output, and OTLP.
type outputs struct {
	metrics *export.Metrics
	records io.Writer
	lines   *jsonlines.Writer // nil without records
	traces  *otlp.Traces      // nil without an endpoint for traces
	push    *otlp.Metrics     // nil without an endpoint for metrics

	settledSinks []func(timeline.Timeline)
	// terminations is true if a selected record format has records for terminations and for the node's start-up.
	terminations bool
}

// newOutputs creates the outputs. After every sink has written, sent or dropped a start-up, the outputs call the
// function "reported".
func newOutputs(ctx context.Context, d deps, records io.Writer,
	reported func(timeline.Timeline)) (out outputs, err error) {
	handed := newDeliveries(reported)
	out = outputs{metrics: export.NewMetrics(d.registry, tracesOf(d.config)), records: records,
		terminations: d.config.recordsHaveTerminations()}
	out.settledSinks = []func(timeline.Timeline){out.metrics.Observe, handed.receive}
	if d.config.workloads > 0 {
		out.settledSinks = append(out.settledSinks, export.NewWorkloadSeries(d.registry, d.config.workloads).Observe)
	}
	if out.lines = newRecords(d, records, handed); out.lines != nil {
		if isDevNull(records) {
			d.logger.Warn("the agent discards records, because standard output is closed or is /dev/null: " +
				"redirect standard output to a file or a pipe, or turn records off with --records=none")
		}
		out.settledSinks = append(out.settledSinks, out.lines.Offer)
	}
	if out.traces, err = newTraces(ctx, d, handed); err != nil {
		return outputs{}, err
	}
	if out.traces != nil {
		out.settledSinks = append(out.settledSinks, out.traces.Offer)
	}
	out.push, err = newMetricsPush(ctx, d)
	return out, err
}

// send passes a report to the outputs that use this kind of report.
func (out outputs) send(r reconcile.Report) {
	switch r.Kind {
	case reconcile.Settled:
		for _, sink := range out.settledSinks {
			sink(r.Timeline)
		}
	case reconcile.Partial:
		out.lines.Offer(r.Timeline)
	case reconcile.EphemeralPulled:
		out.metrics.ObserveEphemeral(r.Timeline)
	case reconcile.PostStartup:
		out.traces.OfferPostStartup(r.Timeline, r.PostStartup)
	case reconcile.Terminated:
		if out.lines != nil && out.terminations {
			out.lines.OfferTermination(r.Timeline)
		}
		if out.traces != nil {
			out.traces.OfferTermination(r.Timeline)
		}
	}
}

// nodeStarted passes the node's start-up to the traces. If a selected record format has records for the node's
// start-up, nodeStarted also passes the start-up to the records.
func (out outputs) nodeStarted(r api.NodeStartUpRecord) {
	if out.lines != nil && out.terminations {
		out.lines.OfferNodeStartUp(r)
	}
	if out.traces != nil {
		out.traces.OfferNodeStartUp(r)
	}
}

func (out outputs) components() []component {
	var list []component
	if out.lines != nil {
		list = append(list,
			component{"records", stageSinks, out.lines.Run},
			// Even while the agent writes no records, watchReader detects that no process reads standard output.
			component{"records", stageSinks, watchReader(out.records, readerLooks)},
		)
	}
	if out.traces != nil {
		list = append(list, component{partTraces, stageSinks, out.traces.Run})
	}
	if out.push != nil {
		list = append(list, component{partMetrics, stageSinks, out.push.Run})
	}
	return list
}
