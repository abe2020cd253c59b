package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Kustomize renders the directory of a kustomization, as kubectl kustomize does. The result has one YAML document for
// each object.
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

// Composition describes the base with additional components, another image, and patches.
type Composition struct {
	Components []string // names of the components, in the order in which kustomize applies them
	Image      string   // NAME:TAG or NAME@DIGEST; if empty, Compose does not change the image
	Patches    []string // strategic merge patches, applied after the components
}

// imageName is the name of the image in the manifests.
const imageName = "ghcr.io/podlapse/podlapse"

// Compose renders the manifests that a Composition describes. The argument "manifests" is the directory that contains
// the base and the components. Compose writes a kustomization to the directory "scratch", which must be empty.
func Compose(manifests, scratch string, c Composition) (string, error) {
	back, err := filepath.Rel(scratch, manifests)
	if err != nil {
		return "", fmt.Errorf("compose manifests: %w", err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- %s/base\n",
		back)
	if len(c.Components) > 0 {
		fmt.Fprintf(&text, "components:\n")
	}
	for _, name := range c.Components {
		fmt.Fprintf(&text, "- %s/components/%s\n", back, name)
	}
	files := map[string]string{}
	if name, digest, pinned := strings.Cut(c.Image, "@"); pinned {
		fmt.Fprintf(&text, "images:\n- name: %s\n  newName: %s\n  digest: %s\n", imageName, name, digest)
	} else if c.Image != "" {
		colon := strings.LastIndex(c.Image, ":")
		if colon < strings.LastIndex(c.Image, "/") {
			return "", fmt.Errorf("compose manifests: image %s must have a tag", c.Image)
		}
		fmt.Fprintf(&text, "images:\n- name: %s\n  newName: %s\n  newTag: %q\n", imageName, c.Image[:colon],
			c.Image[colon+1:])
	}
	if len(c.Patches) > 0 {
		fmt.Fprintf(&text, "patches:\n")
	}
	for i, patch := range c.Patches {
		name := fmt.Sprintf("patch-%d.yaml", i+1)
		fmt.Fprintf(&text, "- path: %s\n", name)
		files[name] = patch
	}
	files["kustomization.yaml"] = text.String()
	disk := filesys.MakeFsOnDisk()
	for name, content := range files {
		if err := disk.WriteFile(filepath.Join(scratch, name), []byte(content)); err != nil {
			return "", fmt.Errorf("compose manifests: %w", err)
		}
	}
	return Kustomize(scratch)
}

// Documents splits rendered text into one document for each object, in the order of the text.
func Documents(rendered string) ([][]byte, error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(rendered)))
	var documents [][]byte
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("split rendered objects: %w", err)
		}
		// Skip documents without an object. The text before the first separator and the output of some templates
		// contain no object.
		if len(bytes.Trim(document, "-\n ")) > 0 {
			documents = append(documents, document)
		}
	}
}
