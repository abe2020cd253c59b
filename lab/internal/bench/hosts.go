package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/podlapse/podlapse/lab/internal/cri"
	"github.com/podlapse/podlapse/lab/internal/image"
)

// Host returns the host name of a registry. Only this bench uses this host name.
func (b *Bench) Host(name string) string { return name + "." + b.Namespace + ".invalid" }

// hosts returns the directory in which the runtime finds the configuration for a registry.
func (b *Bench) hosts(name string) string { return b.Node.In("registry-hosts", b.Host(name)) }

// ReachHost configures the addresses from which the runtime pulls the images of a registry. The runtime tries the
// mirrors in the given order, and then the server.
func (b *Bench) ReachHost(name, server string, mirrors ...string) error {
	text := b.Node.RegistryGuard().Hosts(server, mirrors...)
	if err := os.MkdirAll(b.hosts(name), 0o700); err != nil {
		return fmt.Errorf("configure registry %s: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(b.hosts(name), "hosts.toml"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("configure registry %s: %w", name, err)
	}
	return nil
}

// forgetHosts removes the registry configurations that ReachHost created. forgetHosts also removes the images of these
// registries from the node.
func (b *Bench) forgetHosts(ctx context.Context, runtime *cri.Client) error {
	found, err := filepath.Glob(b.hosts("*"))
	if err != nil {
		return err
	}
	for _, path := range found {
		if err := runtime.RemoveImages(ctx, filepath.Base(path)+"/"); err != nil {
			return err
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove the configuration of registries: %w", err)
		}
	}
	return nil
}

// PushTo creates one image and pushes the image to several registries under the same name. When PushTo returns, the
// image is not yet on the node.
func (b *Bench) PushTo(ctx context.Context, name string, size int, addresses ...string) error {
	layers, err := image.RandomLayers(size)
	if err != nil {
		return err
	}
	built, err := image.WithLayers(b.base, layers...)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		if err := image.Push(ctx, b.Node.RegistryGuard(), address+"/"+b.Namespace+"/"+name+":1", built); err != nil {
			return err
		}
	}
	return nil
}
