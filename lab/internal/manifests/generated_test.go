package manifests

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files that are generated from manifests/monitoring")

// The chart contains copies of the monitoring files, because a chart cannot read files outside its directory. The rules
// are also in an object, because the Prometheus operator requires an object.
func TestGeneratedFilesMatchMonitoring(t *testing.T) {
	monitoring := filepath.Join(directory(t), "monitoring")
	rules, dashboard := read(t, monitoring, "rules.yaml"), read(t, monitoring, "dashboard.json")
	for path, want := range map[string][]byte{
		"chart/podlapse/files/rules.yaml":      rules,
		"chart/podlapse/files/dashboard.json":  dashboard,
		"components/rules/prometheusrule.yaml": prometheusRule(string(rules)),
	} {
		path = filepath.Join(directory(t), path)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := read(t, path); !bytes.Equal(got, want) {
			t.Errorf("%s differs from manifests/monitoring; run go test ./internal/manifests -update in lab/", path)
		}
	}
	// kubectl apply stores the whole object in an annotation. All annotations of an object together can have at most
	// 256 KiB.
	if len(dashboard) > 200<<10 {
		t.Errorf("a dashboard of %d bytes is too large for kubectl apply", len(dashboard))
	}
}

// prometheusRule returns a PrometheusRule with the unmodified YAML of a rule file.
func prometheusRule(rules string) []byte {
	var text strings.Builder
	text.WriteString(`# Made from manifests/monitoring/rules.yaml by go test ./internal/manifests -update, in lab/.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: podlapse
  namespace: podlapse
  labels:
    app.kubernetes.io/name: podlapse
    app.kubernetes.io/component: rules
    app.kubernetes.io/part-of: podlapse
spec:
`)
	for line := range strings.Lines(rules) {
		if strings.TrimSpace(line) != "" {
			line = "  " + line
		}
		text.WriteString(line)
	}
	return []byte(text.String())
}
