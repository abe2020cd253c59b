package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/monitoring"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// watchAlerts starts an empty Prometheus with a copy of the real rules. In the copy, all durations are divided by
// timesFaster.
func (r *tenantRun) watchAlerts(ctx context.Context) error {
	rules, err := node.Rules()
	if err != nil {
		return err
	}
	if rules, err = monitoring.Faster(rules, timesFaster); err != nil {
		return err
	}
	r.prometheus, err = r.bench.Node.StartMonitoring(ctx, node.Monitoring{Interval: alertInterval, Rules: rules})
	return err
}

// alertsSince returns the alerts that fired since the given time, and the alerts that were pending. Each key is the
// name of an alert with its labels. The result does not contain alerts that the tenant's own pods can cause.
func (r *tenantRun) alertsSince(ctx context.Context, since time.Time) (fired, pending map[string]bool, err error) {
	alerts, err := r.prometheus.Query(ctx, fmt.Sprintf(`last_over_time(ALERTS{alertname=~"Podlapse.*"}[%ds])`,
		int(time.Since(since).Seconds())+1))
	fired, pending = make(map[string]bool), make(map[string]bool)
	for _, alert := range alerts {
		if ofTenants(alert.Labels) {
			continue
		}
		if alert.Labels["alertstate"] == "firing" {
			fired[alertText(alert.Labels)] = true
		} else {
			pending[alertText(alert.Labels)] = true
		}
	}
	return fired, pending, err
}

// ofTenants reports whether the tenant's own pods can cause an alert. Such an alert is not a false alarm: the tenant's
// pods really wait, and their pulls really fail.
func ofTenants(alert map[string]string) bool {
	switch alert["alertname"] {
	case "PodlapsePodsStuckInPhase":
		return true
	case "PodlapseRegistrySlow", "PodlapseRegistryFailing":
		return alert["registry"] != layout.Address(layout.RegistryPort)
	}
	return false
}

// alertText returns an alert's name and the labels that show what the alert is about, for example the label "registry".
func alertText(alert map[string]string) string {
	about := maps.Clone(alert)
	for _, label := range []string{"__name__", "alertname", "alertstate", "instance", "job"} {
		delete(about, label)
	}
	text := alert["alertname"]
	for _, label := range slices.Sorted(maps.Keys(about)) {
		text += fmt.Sprintf(" %s=%q", label, about[label])
	}
	return text
}

// judgeAlerts requires the same alerts with and without the attack.
func judgeAlerts(v *Verdict, what string, alone []map[string]bool, attacked map[string]bool) {
	v.Compared++
	for alert := range attacked {
		if !slices.ContainsFunc(alone, func(fired map[string]bool) bool { return fired[alert] }) {
			v.Problem("%s: %s fires only during the attack, want the same alerts with and without the attack", what,
				alert)
		}
	}
	for alert := range alone[0] {
		always := !slices.ContainsFunc(alone, func(fired map[string]bool) bool { return !fired[alert] })
		if always && !attacked[alert] {
			v.Problem("%s: %s fires only without the attack, want the same alerts with and without the attack", what,
				alert)
		}
	}
}

// noteAlerts adds a note about one block (see honestBlock) to the verdict. The note lists the alerts that fired, and
// the alerts that were pending.
func noteAlerts(v *Verdict, block string, fired, pending map[string]bool) {
	text := func(alerts map[string]bool) string {
		if len(alerts) == 0 {
			return "none"
		}
		return strings.Join(slices.Sorted(maps.Keys(alerts)), ", ")
	}
	v.Note("%s: alerts that fired: %s; pending: %s", block, text(fired), text(pending))
}
