package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/podlapse/podlapse/lab/internal/manifests"
	"github.com/podlapse/podlapse/lab/internal/markdown"
)

// helmCall is a call of the program helm that installs, upgrades or renders the chart.
type helmCall struct {
	release, chart, namespace string
	values                    map[string]any
}

// The method helm renders the chart of a call with Helm's own engine, because the lab does not have the program helm.
// The API server then checks each object in a dry run.
func (s documentedShell) helm(ctx context.Context, call markdown.Call) error {
	documents, err := renderHelm(call, s.dir)
	if err != nil {
		return err
	}
	var failures []error
	for _, document := range documents {
		failures = append(failures, dryRun(ctx, s.b, document))
	}
	return errors.Join(failures...)
}

// renderHelm returns the objects that a call of helm renders. Paths are relative to dir.
func renderHelm(call markdown.Call, dir string) ([][]byte, error) {
	parsed, err := parseHelm(call, dir)
	if err != nil {
		return nil, err
	}
	values, err := yaml.Marshal(parsed.values)
	if err != nil {
		return nil, fmt.Errorf("encode the values: %w", err)
	}
	chart := filepath.Join(dir, parsed.chart)
	rendered, err := manifests.Chart(chart, parsed.release, parsed.namespace, string(values))
	if err != nil {
		return nil, err
	}
	documents, err := manifests.Documents(rendered.Objects)
	if err == nil && len(documents) == 0 {
		err = errors.New("the chart has no objects")
	}
	return documents, err
}

// parseHelm reads the arguments of helm install, upgrade --install or template. Paths are relative to dir.
func parseHelm(call markdown.Call, dir string) (helmCall, error) {
	parsed := helmCall{namespace: "default", values: map[string]any{}}
	var words []string
	for i := 1; i < len(call); i++ {
		name, value, joined := strings.Cut(call[i], "=")
		switch name {
		case "--install", "--create-namespace", "--reuse-values", "--reset-then-reuse-values", "--wait":
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
		if err := parsed.set(name, value, dir); err != nil {
			return helmCall{}, err
		}
	}
	if len(words) != 3 || !slices.Contains([]string{"install", "upgrade", "template"}, words[0]) {
		return helmCall{}, fmt.Errorf("the scenario only runs helm install, upgrade or template RELEASE CHART, got %q",
			words)
	}
	parsed.release, parsed.chart = words[1], words[2]
	return parsed, nil
}

// The method set applies a flag with its value.
func (c *helmCall) set(flag, value, dir string) error {
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
