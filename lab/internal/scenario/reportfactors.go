package scenario

import (
	"math"
	"time"

	"github.com/podlapse/podlapse/lab/internal/node"
)

// judgeFactors compares the factors and the pull times in the report with the truth.
func (v *Verdict) judgeFactors(r fleetReport, t reportTruth) {
	registry, there := r.Registries.row(node.OtherRegistry)
	v.compareFactor("registry "+node.OtherRegistry, t.registryFactor(), registry, there)
	for name, reference := range t.images {
		row, there := r.Images.row(reference)
		slow := isFar(name) || name == "large"
		if there {
			v.compareNumber("pull of "+name, t.pulls[name].Round(time.Second), t.pulls[name], row.Seconds, limit)
		}
		if slow {
			v.compareFactor("image of "+name, t.imageFactor(name), row, there)
		}
		if isFar(name) {
			row, there := r.Workloads.row("deployment " + t.namespace + "/" + name)
			total, expected := t.startUp(name, nil)
			v.compareFactor("workload "+name, total.Seconds()/expected.Seconds(), row, there)
			lost := total - expected
			v.requireBetween("lost by workload "+name, lost-lost/4, lost+lost/4, row)
		}
	}
}

// compareFactor compares the factor of a row with the truth.
func (v *Verdict) compareFactor(what string, truth float64, row reportRow, there bool) {
	v.Compared++
	switch {
	case !there:
		v.Problem("%s: the report has no row, want the factor %.2f", what, truth)
	case math.Abs(row.Factor-truth) > reportTolerance*truth:
		v.Problem("%s: the factor is %.2f, want %.2f with a tolerance of %.0f %%", what, row.Factor, truth,
			100*reportTolerance)
	default:
		v.Note("%s: the factor is %.2f, the truth is %.2f", what, row.Factor, truth)
	}
}
