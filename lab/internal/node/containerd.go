package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/podlapse/podlapse/lab/internal/cni"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

func (n Node) containerd() component {
	config := n.In("containerd.toml")
	return component{
		Spec: process.Spec{Name: containerdName, Path: n.Programs.RuntimeTool(containerdName),
			Args: []string{"--config", config}, Inputs: []string{config},
			// containerd searches this directory first, so it does not use an older shim or runc of the machine.
			Search: n.Programs.Runtime, Enter: n.mountNamespaceEntry()},
		ready: func(ctx context.Context) error {
			client, err := n.Runtime()
			if err != nil {
				return err
			}
			defer client.Close()
			return client.Ready(ctx)
		},
		limit: startLimit,
	}
}

// OtherRegistry is a second name for the lab's registry. An image reference with this name looks like a reference to
// another registry.
const OtherRegistry = "other.registry.invalid"

// writeContainerdConfig writes containerd's configuration and the CNI configuration. For each name of the lab's
// registry, writeContainerdConfig also writes a file hosts.toml. Pod sandboxes use the given pause image.
func (n Node) writeContainerdConfig(pauseImage string) error {
	guard := n.RegistryGuard()
	server := guard.URL(layout.Address(layout.RegistryPort))
	from := server
	if n.Stack.Containerd.Mirror {
		from = guard.URL(layout.Address(layout.NodeMirrorPort))
	}
	for _, name := range []string{layout.Address(layout.RegistryPort), OtherRegistry} {
		hosts := n.In("registry-hosts", name)
		if err := os.MkdirAll(hosts, 0o700); err != nil {
			return fmt.Errorf("create configuration directory: %w", err)
		}
		if err := writeFile(filepath.Join(hosts, "hosts.toml"), guard.Hosts(server, from)); err != nil {
			return err
		}
	}
	if err := errors.Join(n.linkNetworkPlugins(), n.writeNetworkConfig()); err != nil {
		return err
	}
	return writeFile(n.In("containerd.toml"), n.containerdConfig(pauseImage))
}

// networkPlugins returns the directory with links to the CNI plugins.
func (n Node) networkPlugins() string { return n.In("cni", "bin") }

func (n Node) linkNetworkPlugins() error {
	if err := os.MkdirAll(n.networkPlugins(), 0o700); err != nil {
		return fmt.Errorf("create the directory of the network plugins: %w", err)
	}
	plugins := []string{filepath.Join(n.Programs.Payload, cni.PluginName)}
	if n.Stack.Containerd.Major == 1 {
		plugins = append(plugins, n.Programs.RuntimeTool("loopback"))
	}
	for _, plugin := range plugins {
		link := filepath.Join(n.networkPlugins(), filepath.Base(plugin))
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replace the link to a network plugin: %w", err)
		}
		if err := os.Symlink(plugin, link); err != nil {
			return fmt.Errorf("link a network plugin: %w", err)
		}
	}
	return nil
}

// networkConfig returns the path of the CNI configuration file.
func (n Node) networkConfig() string { return n.In("cni", "net.d", "10-podlapse-lab.conflist") }

func (n Node) writeNetworkConfig() error {
	if err := os.MkdirAll(filepath.Dir(n.networkConfig()), 0o700); err != nil {
		return fmt.Errorf("create configuration directory: %w", err)
	}
	conflist, err := json.MarshalIndent(map[string]any{
		"cniVersion": "1.0.0", "name": cni.NetworkName,
		"plugins": []map[string]any{{"type": cni.PluginName, "faultsFile": n.CNIFaults(),
			"logFile": n.CNILog(), "leaseDir": n.In("cni", "leases")}},
	}, "", " ")
	if err != nil {
		return fmt.Errorf("encode network configuration: %w", err)
	}
	return writeFile(n.networkConfig(), string(conflist)+"\n")
}

func (n Node) containerdConfig(pauseImage string) string {
	template := containerd2Config
	if n.Stack.Containerd.Major == 1 {
		template = containerd1Config
	}
	if n.Stack.Containerd.Stargz {
		template += stargzConfig
	}
	bins := fmt.Sprintf("bin_dirs = [%q]", n.networkPlugins())
	if n.Stack.Containerd.IsBefore(2, 1) {
		bins = fmt.Sprintf("bin_dir = %q", n.networkPlugins())
	}
	level := "info"
	if n.Stack.Containerd.IsBefore(1, 7) {
		level = "debug"
	}
	replace := strings.NewReplacer(
		"@root@", n.In("containerd"), "@state@", n.ContainerdState(), "@socket@", n.ContainerdSocket(),
		"@opt@", n.In("containerd-opt"), "@shims@", n.ShimSockets(), "@image@", pauseImage,
		"@snapshotter@", n.snapshotterName(), "@hosts@", n.In("registry-hosts"),
		"@discard@", strconv.FormatBool(n.Stack.Containerd.DiscardUnpackedLayers),
		"@runc@", n.runcPath(), "@fragile@", n.fragileProgram(), "@runcroot@", n.RuncRoot(),
		"@nolabels@", strconv.FormatBool(!n.Stack.Containerd.Stargz),
		"@level@", level, "@bins@", bins, "@net@", n.In("cni", "net.d"),
	)
	return replace.Replace(template)
}

// snapshotterName returns the name of containerd's snapshotter. On a stack with the stargz snapshotter, the name is
// "stargz". On other stacks, the name is usually "overlayfs". If the state directory is on an overlay, for example in a
// container without a volume, the name is "native". The kernel does not support an overlay on an overlay.
func (n Node) snapshotterName() string {
	if n.Stack.Containerd.Stargz {
		return "stargz"
	}
	const overlayMagic = 0x794c7630
	var fs syscall.Statfs_t
	if syscall.Statfs(n.State, &fs) == nil && int64(fs.Type) == overlayMagic {
		return "native"
	}
	return "overlayfs"
}

// ContentStoredAt returns the time when containerd stored the content with the given digest. The result is the time of
// the last change of the content's file. The last change makes the file read-only, after containerd has verified the
// content and has written it to disk. If containerd does not have the content, the result is the zero time.
func (n Node) ContentStoredAt(digest string) (time.Time, error) {
	algorithm, hash, _ := strings.Cut(digest, ":")
	var file syscall.Stat_t
	err := syscall.Stat(filepath.Join(n.In("containerd"), "io.containerd.content.v1.content", "blobs", algorithm, hash),
		&file)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("find the time when containerd stored content %s: %w", digest, err)
	}
	return time.Unix(file.Ctim.Unix()), nil
}

// ContainerdLog returns the path of containerd's log.
func (n Node) ContainerdLog() string { return filepath.Join(n.Logs(), containerdName+".log") }
