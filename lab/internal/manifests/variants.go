package manifests

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// componentValues maps each kustomize component to the chart values that have the same effect.
func componentValues() map[string]string {
	return map[string]string{
		"node-impersonation":    "nodeImpersonation: {enabled: true}",
		"host-network":          "hostNetwork: {enabled: true}",
		"pod-monitor":           "podMonitor: {enabled: true}",
		"rules":                 "rules: {enabled: true}",
		"dashboard":             "dashboard: {enabled: true}",
		"kube-prometheus-stack": "kubePrometheusStack: {release: kube-prometheus-stack}",
		"network-policy":        "networkPolicy: {enabled: true}",
		"priority-level":        "priorityLevel: {enabled: true}",
		"metrics-auth":          "metricsAuth: {enabled: true}",
		"open-api":              "openAPI: {enabled: true}",
		"state-dir":             "stateDir: {enabled: true}",
		"annotate":              "annotate: {enabled: true}",
		"node-health":           "nodeHealth: {enabled: true}",
		"probes":                "probes: {enabled: true}",
		"runtime-proxy":         "runtimeProxy: {enabled: true}",
		"crio":                  "runtime: crio",
		"k3s":                   "runtime: k3s",
		"microk8s":              "runtime: microk8s",
		"mixed":                 "runtime: mixed",
		"no-runtime":            "runtime: off",
		"selinux":               "seLinuxOptions: {type: spc_t}",
		"openshift":             "openshift: {enabled: true}",
		"tls":                   "tls: {enabled: true}",
	}
}

func valuesOf(components ...string) string {
	var lines []string
	for _, name := range components {
		lines = append(lines, componentValues()[name])
	}
	return strings.Join(lines, "\n")
}

// Variant is one rendered installation of the agent.
type Variant struct {
	Name    string
	Objects string // YAML documents
}

// Variants renders the installations that the manifests support: the base, the base with each component, each overlay,
// and the chart. Variants renders the chart several times: with its default values, with the values for each component,
// and with the values for all components that can be combined. Variants writes temporary files to the directory
// "scratch".
func Variants(manifests, scratch string) ([]Variant, error) {
	components := slices.Sorted(maps.Keys(componentValues()))
	var all []Variant
	var failures []error
	add := func(name, objects string, err error) {
		failures = append(failures, err)
		all = append(all, Variant{name, objects})
	}
	for _, name := range append([]string{""}, components...) {
		var c Composition
		if name != "" {
			c.Components = []string{name}
		}
		dir := filepath.Join(scratch, "base-"+name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("render manifests: %w", err)
		}
		objects, err := Compose(manifests, dir, c)
		add(strings.TrimSpace("base "+name), objects, err)
	}
	overlays, err := os.ReadDir(filepath.Join(manifests, "overlays"))
	if err != nil {
		return nil, fmt.Errorf("list overlays: %w", err)
	}
	for _, overlay := range overlays {
		objects, err := Kustomize(filepath.Join(manifests, "overlays", overlay.Name()))
		add("overlay "+overlay.Name(), objects, err)
	}
	chart := func(name, values string) {
		rendered, err := Chart(filepath.Join(manifests, "chart", "podlapse"), "podlapse", "podlapse",
			"namespace: {create: true}\n"+values)
		add(strings.TrimSpace("chart "+name), rendered.Objects, err)
	}
	chart("", "")
	for _, name := range components {
		chart(name, valuesOf(name))
	}
	together := slices.DeleteFunc(components,
		func(name string) bool {
			return slices.Contains([]string{"crio", "k3s", "microk8s", "mixed", "no-runtime"}, name)
		})
	chart("with all", valuesOf(together...))
	return all, errors.Join(failures...)
}
