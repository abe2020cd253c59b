package stack

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each stack must name existing modules, and the major version of containerd must match its module.
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
			if feature != ImageVolumes {
				t.Errorf("%s: unknown feature %q", name, feature)
			}
		}
		for _, dir := range []string{s.Kubernetes, s.Containerd.Dir} {
			if _, err := os.Stat(filepath.Join("../../tools", dir, "go.mod")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		module, _ := os.ReadFile(filepath.Join("../../tools", s.Containerd.Dir, "go.mod"))
		if !strings.Contains(string(module), "\t"+s.Containerd.Module()+" v") {
			t.Errorf("%s: tools/%s does not require %s", name, s.Containerd.Dir, s.Containerd.Module())
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
	for name, want := range map[string]bool{
		Current:          true,
		"containerd-1.7": true,
		"eks":            false,
		"k8s-1.30":       true,
		"k8s-1.34":       true,
	} {
		s, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := s.Containerd.KeepsLayers(); got != want {
			t.Errorf("%s: KeepsLayers is %t", name, got)
		}
	}
}
