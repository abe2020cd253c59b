package manifests

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The component "metrics-auth" creates a token for Prometheus. The token must permit only the agents' metrics, at
// /podlapse/metrics. A permission for the usual path /metrics would also permit the metrics of other programs.
func TestMetricsReaderReadsOnlyAgentMetrics(t *testing.T) {
	for from, objects := range map[string][]object{"component": compose(t, "metrics-auth"),
		"chart": renderChart(t, "metricsAuth: {enabled: true}")} {
		rules := find[*rbacv1.ClusterRole](t, objects, "podlapse-metrics-reader").Rules
		if len(rules) != 1 || !slices.Equal(rules[0].NonResourceURLs, []string{"/podlapse/metrics"}) ||
			!slices.Equal(rules[0].Verbs, []string{"get"}) ||
			len(rules[0].Resources) > 0 {
			t.Errorf("%s: its role has the rules %+v", from, rules)
		}
		var bound []string
		for _, o := range objects {
			if binding, ok := o.(*rbacv1.ClusterRoleBinding); ok &&
				binding.Subjects[0].Name == "podlapse-metrics-reader" {
				bound = append(bound, binding.RoleRef.Name)
			}
		}
		if !slices.Equal(bound, []string{"podlapse-metrics-reader"}) {
			t.Errorf("%s: it is bound to %v", from, bound)
		}
	}
}
