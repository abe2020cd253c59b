package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/podlapse/podlapse/lab/internal/manifests"
	"github.com/podlapse/podlapse/lab/internal/markdown"
)

// helmCall is a call of helm. The call installs, upgrades or renders the chart.
type helmCall struct {
	release, chart, namespace string
	values                    map[string]any
	installs                  bool // true for helm install and helm upgrade --install
	renders                   bool // true for helm template, which creates no release in the cluster
	reuses                    bool // true with --reuse-values or --reset-then-reuse-values
}

// helmReleases computes the values of Helm releases, because the lab does not have the program helm.
type helmReleases struct {
	first map[string]map[string]any // values of the release that the first documented installation creates
	now   map[string]map[string]any // values of each release after the latest command
	file  string                    // the document that contains the latest command
}

// valuesAfter returns the values that a release has after a call of helm. When a document begins, only the release of
// the first documented installation exists, with the values of this installation. Within a document, each command
// changes the values as Helm would change them. If an upgrade without --install drops values of the release,
// valuesAfter returns an error.
func (r *helmReleases) valuesAfter(file string, call helmCall) (map[string]any, error) {
	if r.now == nil || r.file != file {
		r.file, r.now = file, map[string]map[string]any{}
		for key, values := range r.first {
			r.now[key] = values
		}
	}
	key := call.namespace + "/" + call.release
	before, exists := r.now[key]
	values := call.values
	switch {
	case call.renders:
		return values, nil
	case call.installs && !call.reuses: // the document describes a new installation
	case !exists && !call.installs:
		return nil, fmt.Errorf("\"helm upgrade\" requires the release %q, but no earlier command installs this release",
			key)
	case call.reuses:
		// CoalesceTables changes both of its arguments, so the second argument is a copy.
		values = util.CoalesceTables(values, runtime.DeepCopyJSON(before))
	case len(values) == 0:
		values = before // Helm keeps the values if the call sets no values
	}
	if lost := missingValue(values, before, ""); lost != "" && !call.installs {
		return nil, fmt.Errorf("\"helm upgrade\" drops the value %q of the release: add --reset-then-reuse-values",
			lost)
	}
	if r.first == nil {
		r.first = map[string]map[string]any{key: values}
	}
	r.now[key] = values
	return values, nil
}

// missingValue returns the path of a value that the map "before" contains and the map "after" lacks. If no value is
// missing, missingValue returns an empty string.
func missingValue(after, before map[string]any, prefix string) string {
	for name, old := range before {
		value, ok := after[name]
		if !ok {
			return prefix + name
		}
		oldTable, isTable := old.(map[string]any)
		table, stays := value.(map[string]any)
		if isTable && stays {
			if lost := missingValue(table, oldTable, prefix+name+"."); lost != "" {
				return lost
			}
		}
	}
	return ""
}

// checkHelm renders the chart with the values that the release has after a documented helm command. The API server then
// checks each rendered object in a dry run.
func (s documentedShell) checkHelm(ctx context.Context, file string, call markdown.Call) error {
	documents, err := s.releases.renderRelease(file, call, s.dir)
	if err != nil {
		return err
	}
	var failures []error
	for _, document := range documents {
		failures = append(failures, dryRun(ctx, s.b, document))
	}
	return errors.Join(failures...)
}

// renderRelease returns the objects of a release after a documented helm command. Helm's own engine renders the chart.
// File names in the call are relative to dir.
func (r *helmReleases) renderRelease(file string, call markdown.Call, dir string) ([][]byte, error) {
	parsed, err := parseHelm(call, dir)
	if err != nil {
		return nil, err
	}
	values, err := r.valuesAfter(file, parsed)
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encode the values of the chart: %w", err)
	}
	rendered, err := manifests.Chart(filepath.Join(dir, parsed.chart), parsed.release, parsed.namespace, string(text))
	if err != nil {
		return nil, err
	}
	documents, err := manifests.Documents(rendered.Objects)
	if err == nil && len(documents) == 0 {
		err = errors.New("the chart has no objects")
	}
	return documents, err
}

// parseHelm reads the arguments of helm install, upgrade or template. File names in the arguments are relative to dir.
func parseHelm(call markdown.Call, dir string) (helmCall, error) {
	parsed := helmCall{namespace: "default", values: map[string]any{}}
	var words []string
	for i := 1; i < len(call); i++ {
		name, value, joined := strings.Cut(call[i], "=")
		switch name {
		case "--install", "-i":
			parsed.installs = true
			continue
		case "--reuse-values", "--reset-then-reuse-values":
			parsed.reuses = true
			continue
		case "--create-namespace", "--wait":
			continue
		case "-n", "--namespace", "--set", "--set-string", "-f", "--values":
		default:
			if strings.HasPrefix(name, "-") {
				return helmCall{}, fmt.Errorf("the scenario does not know helm's flag %s", name)
			}
			words = append(words, call[i])
			continue
		}
		if !joined {
			if i++; i == len(call) {
				return helmCall{}, fmt.Errorf("helm's flag %s has no value", name)
			}
			value = call[i]
		}
		if err := parsed.applyFlag(name, value, dir); err != nil {
			return helmCall{}, err
		}
	}
	if len(words) != 3 || !slices.Contains([]string{"install", "upgrade", "template"}, words[0]) {
		return helmCall{}, fmt.Errorf("the scenario runs only \"helm install RELEASE CHART\", \"helm upgrade RELEASE "+
			"CHART\" and \"helm template RELEASE CHART\", got %q",
			words)
	}
	parsed.installs, parsed.renders = parsed.installs || words[0] == "install", words[0] == "template"
	parsed.release, parsed.chart = words[1], words[2]
	return parsed, nil
}

// applyFlag adds a flag and its value to the call.
func (c *helmCall) applyFlag(flag, value, dir string) error {
	switch flag {
	case "-n", "--namespace":
		c.namespace = value
	case "--set":
		return strvals.ParseInto(value, c.values)
	case "--set-string":
		return strvals.ParseIntoString(value, c.values)
	default:
		text, err := os.ReadFile(filepath.Join(dir, value))
		if err != nil {
			return fmt.Errorf("read values: %w", err)
		}
		return yaml.Unmarshal(text, &c.values)
	}
	return nil
}
