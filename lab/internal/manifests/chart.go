package manifests

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

const notesName = "NOTES.txt"

// templateVersion is the Kubernetes version for which Chart renders a chart. This version has the same effect as the
// flag --kube-version of the command helm template. Helm's default is the version of its Kubernetes libraries, but a
// test binary does not contain this version.
const templateVersion = "v1.36.3"

// Rendered is the output of rendering a chart.
type Rendered struct {
	Objects string // YAML documents
	Notes   string // the text that Helm prints after installation
}

// Chart renders the chart in the directory "dir", like the command helm template. The argument "release" is the name of
// the Helm release. The argument "values" is YAML that overrides the default values of the chart. If the chart's schema
// rejects values, the error contains the names of these values.
func Chart(dir, release, namespace, values string) (Rendered, error) {
	cluster := common.DefaultCapabilities.Copy()
	cluster.KubeVersion = common.KubeVersion{Version: templateVersion}
	return ChartFor(dir, release, namespace, values, cluster)
}

// ChartFor is like Chart, but for a cluster with the given version and APIs.
func ChartFor(dir, release, namespace, values string, cluster *common.Capabilities) (Rendered, error) {
	chart, err := loader.Load(dir)
	if err != nil {
		return Rendered{}, fmt.Errorf("load chart: %w", err)
	}
	given, err := common.ReadValues([]byte(values))
	if err != nil {
		return Rendered{}, fmt.Errorf("read values: %w", err)
	}
	all, err := util.ToRenderValues(chart, given,
		common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}, cluster)
	if err != nil {
		return Rendered{}, err
	}
	texts, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return Rendered{}, fmt.Errorf("render chart: %w", err)
	}
	var rendered Rendered
	var objects strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if path.Base(name) == notesName {
			rendered.Notes = texts[name]
			continue
		}
		objects.WriteString("---\n" + texts[name] + "\n")
	}
	rendered.Objects = objects.String()
	return rendered, nil
}
