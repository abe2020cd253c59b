package build

import (
	"context"
	"path/filepath"
)

// receiverModule is the directory of the receiver's Go module. This module contains source code. The modules of most
// other tools only pin versions.
const receiverModule = "tools/otlp"

// Receiver returns the path of the program that receives traces and metrics over OTLP. If the program is missing from
// the cache, Receiver builds the program. Only a few scenarios need the receiver, so the lab does not build it together
// with the other tools.
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
	unlock, err := b.LockCache(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	return filepath.Join(dir, name), b.fill(ctx, dir, []group{g})
}

// receiverKey returns the cache key of the receiver. The key depends on the receiver's sources, the versions of its
// dependencies, and the Go version.
func receiverKey(source, goVersion string) (string, error) {
	sources, err := sourcesOf(source, receiverModule)
	if err != nil {
		return "", err
	}
	return keyOf(source, append(sources, receiverModule+"/go.mod", receiverModule+"/go.sum"), goVersion)
}
