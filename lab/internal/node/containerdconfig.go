package node

// The constants in this file are templates for containerd's configuration. The method containerdConfig replaces each
// placeholder, such as @root@, with a value.

// containerd2Config is the template for containerd 2. The versions before 2.3 log a warning and ignore the setting
// socket_dir. With these versions, the shims create their sockets in /run/containerd/s.
const containerd2Config = `version = 3
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
  discard_unpacked_layers = @discard@
  # A lazy snapshotter needs the labels with the names of the image and of its layers.
  disable_snapshot_annotations = @nolabels@
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
    @bins@
    conf_dir = "@net@"
    # Without this setting, containerd would need an installed loopback plugin.
    use_internal_loopback = true
`

// stargzConfig is the part of the configuration that only stacks with the stargz snapshotter need. Each scenario
// removes its images from the registry when it ends. If containerd restarts later, stargz cannot mount the snapshots of
// these images that are still on the node. The setting allow_invalid_mounts_on_restart makes stargz accept such
// snapshots.
const stargzConfig = `
[plugins."io.containerd.snapshotter.v1.stargz".registry]
  config_path = "@hosts@"
[plugins."io.containerd.snapshotter.v1.stargz".snapshotter]
  allow_invalid_mounts_on_restart = true
`

// containerd1Config is the template for containerd 1. The settings have the same effects as in containerd2Config.
// containerd 1 does not know the setting socket_dir, so the shims create their sockets in /run/containerd/s. The lab
// reads the exit times of containers from containerd's log. containerd 1.6 logs the exits only at the level "debug".
const containerd1Config = `version = 2
root = "@root@"
state = "@state@"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.blockfile"]

[debug]
  level = "@level@"

[grpc]
  address = "@socket@"

[plugins."io.containerd.internal.v1.opt"]
  path = "@opt@"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "@image@"
  restrict_oom_score_adj = true
  disable_apparmor = true
  enable_unprivileged_ports = false
  enable_unprivileged_icmp = false
  netns_mounts_under_state_dir = true
  cdi_spec_dirs = []
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "@hosts@"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "@snapshotter@"
    discard_unpacked_layers = @discard@
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "@runc@"
        Root = "@runcroot@"
        SystemdCgroup = false
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.fragile]
        runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.fragile.options]
        BinaryName = "@fragile@"
        Root = "@runcroot@"
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    @bins@
    conf_dir = "@net@"
`
