package manifests

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The token that metrics-auth creates for Prometheus can read only the agents' metrics, because the metrics of other
// programs are at /metrics.
func TestMetricsReaderReadsTheAgentsAlone(t *testing.T) {
	for from, objects := range map[string][]object{"component": compose(t, "metrics-auth"),
		"chart": ofChart(t, "metricsAuth: {enabled: true}")} {
		rules := find[*rbacv1.ClusterRole](t, objects, "podlapse-metrics-reader").Rules
		if len(rules) != 1 || !slices.Equal(rules[0].NonResourceURLs, []string{"/podlapse/metrics"}) ||
			!slices.Equal(rules[0].Verbs, []string{"get"}) ||
			len(rules[0].Resources) > 0 {
			t.Errorf("%s: it may %+v", from, rules)
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
