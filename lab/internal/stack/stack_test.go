package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each stack must name existing modules, and its versions must match the modules.
func TestStacksAreValid(t *testing.T) {
	names := Names()
	if !slices.Contains(names, Current) {
		t.Fatalf("no stack %q in %q", Current, names)
	}
	for _, name := range names {
		s, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name != name {
			t.Errorf("%s: the stack has the name %q", name, s.Name)
		}
		for _, feature := range s.Lacks {
			if feature != ImageVolumes && feature != NodeImpersonation {
				t.Errorf("%s: unknown feature %q", name, feature)
			}
		}
		if s.Has(NodeImpersonation) != (s.Kubernetes.Minor >= 36) {
			t.Errorf("%s: Kubernetes 1.%d has %q: %t", name, s.Kubernetes.Minor, NodeImpersonation,
				s.Has(NodeImpersonation))
		}
		for dir, required := range map[string]string{
			s.Kubernetes.Dir: fmt.Sprintf("k8s.io/kubernetes v1.%d.", s.Kubernetes.Minor),
			s.Containerd.Dir: fmt.Sprintf("%s v%d.%d.", s.Containerd.Module(), s.Containerd.Major,
				s.Containerd.Minor),
		} {
			module, err := os.ReadFile(filepath.Join("../../tools", dir, "go.mod"))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if !strings.Contains(string(module), "\t"+required) {
				t.Errorf("%s: tools/%s does not require %s", name, dir, required)
			}
		}
	}
}

func TestEmptyNameIsCurrent(t *testing.T) {
	if s, err := Load(""); err != nil || s.Name != Current {
		t.Errorf("got %q, %v", s.Name, err)
	}
}

func TestUnknownStackIsRefused(t *testing.T) {
	for _, name := range []string{"k8s-1.2", "../stack", "current.json"} {
		if _, err := Load(name); err == nil || !strings.Contains(err.Error(), "must be one of") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The rules of the judges depend on these properties of the stacks.
func TestPropertiesOfStacks(t *testing.T) {
	for name, want := range map[string]struct{ keepsLayers, hidesPlugins bool }{
		Current:          {keepsLayers: true},
		"certificates":   {keepsLayers: true},
		"containerd-1.6": {keepsLayers: true},
		"containerd-1.7": {keepsLayers: true},
		"containerd-2.0": {keepsLayers: true},
		"eks":            {},
		"k8s-1.30":       {keepsLayers: true, hidesPlugins: true},
		"k8s-1.33":       {keepsLayers: true, hidesPlugins: true},
		"k8s-1.34":       {keepsLayers: true},
		"k8s-1.35":       {keepsLayers: true},
	} {
		s, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := s.Containerd.KeepsLayers(); got != want.keepsLayers {
			t.Errorf("%s: KeepsLayers is %t", name, got)
		}
		if got := s.Kubernetes.PullsMayHidePlugins(); got != want.hidesPlugins {
			t.Errorf("%s: PullsMayHidePlugins is %t", name, got)
		}
	}
}
