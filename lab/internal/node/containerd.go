package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/podlapse/podlapse/lab/internal/cni"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

func (n Node) containerd() component {
	config := n.In("containerd.toml")
	return component{
		Spec: process.Spec{Name: containerdName, Path: n.Programs.Tool(containerdName),
			Args: []string{"--config", config}, Inputs: []string{config},
			// With this search path, containerd does not find an older shim or runc of the system.
			Search: n.Programs.Tools},
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

// OtherRegistry is a second name for the lab's registry. An image with this name seems to come from another registry.
const OtherRegistry = "other.registry.invalid"

// writeContainerdConfig writes the configurations of containerd, of the lab's registry under its two names, and of the
// network. Sandboxes use the given pause image.
func (n Node) writeContainerdConfig(pauseImage string) error {
	server := "http://" + layout.Address(layout.RegistryPort)
	for _, name := range []string{layout.Address(layout.RegistryPort), OtherRegistry} {
		hosts := n.In("registry-hosts", name)
		if err := os.MkdirAll(hosts, 0o700); err != nil {
			return fmt.Errorf("create configuration directory: %w", err)
		}
		text := fmt.Sprintf("server = %q\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", server, server)
		if err := writeFile(filepath.Join(hosts, "hosts.toml"), text); err != nil {
			return err
		}
	}
	if err := n.writeNetworkConfig(); err != nil {
		return err
	}
	return writeFile(n.In("containerd.toml"), n.containerdConfig(pauseImage))
}

// networkConfig returns the path of the file with the network configuration for the runtime.
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
	replace := strings.NewReplacer(
		"@root@", n.In("containerd"), "@state@", n.ContainerdState(), "@socket@", n.ContainerdSocket(),
		"@opt@", n.In("containerd-opt"), "@shims@", n.ShimSockets(), "@image@", pauseImage,
		"@snapshotter@", n.snapshotter(), "@hosts@", n.In("registry-hosts"),
		"@runc@", n.Programs.Tool("runc"), "@fragile@", n.fragileProgram(), "@runcroot@", n.RuncRoot(), "@bin@",
		n.Programs.Payload, "@net@", n.In("cni", "net.d"),
	)
	return replace.Replace(`version = 3
root = "@root@"
state = "@state@"
# NRI would open a socket outside the lab's directories. The lab does not need these plugins.
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.image-verifier.v1.bindir",
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs"]

[grpc]
  address = "@socket@"

[plugins."io.containerd.internal.v1.opt"]
  path = "@opt@"

[plugins."io.containerd.shim.v1.manager"]
  socket_dir = "@shims@"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "@snapshotter@"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "@image@"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "@hosts@"

[plugins."io.containerd.cri.v1.runtime"]
  # In a container, the lab is not allowed to lower the OOM score. Without this setting, runc would fail.
  restrict_oom_score_adj = true
  # With AppArmor, containerd would load a profile into the kernel and never remove it.
  disable_apparmor = true
  enable_unprivileged_ports = false
  enable_unprivileged_icmp = false
  netns_mounts_under_state_dir = true
  cdi_spec_dirs = []
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "@runc@"
        Root = "@runcroot@"
        SystemdCgroup = false
      # The program of this runtime is missing until a scenario creates the program.
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.fragile]
        runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.fragile.options]
        BinaryName = "@fragile@"
        Root = "@runcroot@"
        SystemdCgroup = false
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["@bin@"]
    conf_dir = "@net@"
    # Without this setting, containerd would need an installed loopback plugin.
    use_internal_loopback = true
`)
}

// The method "snapshotter" returns the name of containerd's snapshotter. The snapshotter is "overlayfs" if possible.
// The kernel does not support an overlay on an overlay. Therefore, the snapshotter is "native" if the state directory
// is on an overlay, for example in a container without a volume.
func (n Node) snapshotter() string {
	const overlayMagic = 0x794c7630
	var fs syscall.Statfs_t
	if syscall.Statfs(n.State, &fs) == nil && int64(fs.Type) == overlayMagic {
		return "native"
	}
	return "overlayfs"
}

// ContainerdLog returns the path of containerd's log.
func (n Node) ContainerdLog() string { return filepath.Join(n.Logs(), containerdName+".log") }
