package manifests

import (
	"os"
	"path/filepath"
	"testing"
)

// directory returns the path of manifests/ without symbolic links, which kustomize rejects.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../../manifests")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func chartDirectory(t *testing.T) string { return filepath.Join(directory(t), "chart", "podlapse") }

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func read(t *testing.T, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func compose(t *testing.T, components ...string) []object {
	t.Helper()
	scratch, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := Compose(directory(t), scratch, Composition{Components: components})
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

// renderChart renders the chart together with its namespace, because the base of kustomize also contains the namespace.
func renderChart(t *testing.T, values string) []object {
	t.Helper()
	rendered, err := Chart(chartDirectory(t), "podlapse", "podlapse", "namespace: {create: true}\n"+values)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, rendered.Objects)
}
