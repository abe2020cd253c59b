package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/podlapse/podlapse/lab/internal/build"
	"github.com/podlapse/podlapse/lab/internal/manifests"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// ApplyOf applies the objects in the manifest file components/COMPONENT/FILE. ApplyOf is for files with cluster-scoped
// objects. Kubernetes deletes the objects together with the bench's namespace.
func (b *Bench) ApplyOf(ctx context.Context, component, file string) error {
	source, err := build.FindSource()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(node.Manifests(source), "components", component, file))
	if err != nil {
		return fmt.Errorf("read the Kustomize component %q: %w", component, err)
	}
	documents, err := manifests.Documents(string(text))
	if err != nil {
		return fmt.Errorf("read the Kustomize component %q: %w", component, err)
	}
	for _, document := range documents {
		if err := b.ApplyOwned(ctx, document); err != nil {
			return err
		}
	}
	return nil
}
