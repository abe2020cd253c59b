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

// A chart cannot read files outside its directory, and the Prometheus operator requires rules in an object.
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
	// kubectl apply stores the object in an annotation, and all annotations together are limited to 256 KiB.
	if len(dashboard) > 200<<10 {
		t.Errorf("a dashboard of %d bytes is too large for kubectl apply", len(dashboard))
	}
}

// prometheusRule wraps the groups of a rule file, with unmodified YAML.
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
