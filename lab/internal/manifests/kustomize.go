package manifests

import (
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Kustomize renders a kustomization's directory as kubectl apply -k does: one YAML document for each object.
func Kustomize(dir string) (string, error) {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return "", fmt.Errorf("render %s: %w", dir, err)
	}
	text, err := objects.AsYaml()
	if err != nil {
		return "", fmt.Errorf("render %s: %w", dir, err)
	}
	return string(text), nil
}

// Compose renders the base of a manifests directory with components, in this order, through a kustomization written to
// scratch, an empty directory.
func Compose(manifests, scratch string, components ...string) (string, error) {
	back, err := filepath.Rel(scratch, manifests)
	if err != nil {
		return "", fmt.Errorf("compose manifests: %w", err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- %s/base\n", back)
	if len(components) > 0 {
		fmt.Fprintf(&text, "components:\n")
	}
	for _, name := range components {
		fmt.Fprintf(&text, "- %s/components/%s\n", back, name)
	}
	disk := filesys.MakeFsOnDisk()
	if err := disk.WriteFile(filepath.Join(scratch, "kustomization.yaml"), []byte(text.String())); err != nil {
		return "", fmt.Errorf("compose manifests: %w", err)
	}
	return Kustomize(scratch)
}
