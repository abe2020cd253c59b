package build

import (
	"context"
	"fmt"
	"path/filepath"
)

// receiverModule is a module with source code of its own. The other tool modules only pin versions.
const receiverModule = "tools/otlp"

// Receiver returns the path of the program that receives traces and metrics over OTLP. If the cache lacks the program,
// Receiver builds the program. Receiver is separate from the other tools, because only a few scenarios need it.
func (b Builder) Receiver(ctx context.Context) (string, error) {
	version, err := b.goVersion(ctx)
	if err != nil {
		return "", err
	}
	key, err := receiverKey(b.Source, version)
	if err != nil {
		return "", err
	}
	const name = "otlp-receiver"
	g := group{module: receiverModule, cgo: "0", programs: []program{{name, modulePath + "/" + receiverModule}}}
	dir := filepath.Join(b.Cache, "otlp-"+key)
	if exists(dir) {
		return filepath.Join(dir, name), nil
	}
	unlock, err := b.claim(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	return filepath.Join(dir, name), b.fill(ctx, dir, []group{g})
}

// receiverKey identifies the cached receiver by its sources and the versions of its dependencies.
func receiverKey(source, goVersion string) (string, error) {
	files := []string{receiverModule + "/go.mod", receiverModule + "/go.sum"}
	found, err := filepath.Glob(filepath.Join(source, receiverModule, "*.go"))
	if err != nil {
		return "", fmt.Errorf("list the receiver's sources: %w", err)
	}
	for _, path := range found {
		files = append(files, receiverModule+"/"+filepath.Base(path))
	}
	return keyOf(source, files, goVersion)
}
