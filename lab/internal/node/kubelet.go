package node

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

func (n Node) kubelet() component {
	config, kubeconfig := n.In("kubelet.json"), n.Kubeconfig(kubeletUser)
	spec := process.Spec{Name: kubeletName, Path: n.Programs.Tool(kubeletName), Args: []string{
		"--config=" + config, "--kubeconfig=" + kubeconfig, "--root-dir=" + n.In("kubelet"),
		"--cert-dir=" + n.In("kubelet", "pki"), "--hostname-override=" + layout.NodeName,
		"--v=2", // at level 2, the kubelet logs each new pod
		// The kubelet logs every Event that it creates, including Events that it drops later.
		"--vmodule=event=3",
	}, Inputs: []string{config, kubeconfig}, Enter: n.mountNamespaceEntry()}
	if n.RegistryGuard().IsSet() {
		spec.Args = append(spec.Args, "--image-credential-provider-config="+n.credentialConfig(),
			"--image-credential-provider-bin-dir="+n.Programs.Payload)
		spec.Inputs = append(spec.Inputs, n.credentialConfig())
	}
	return component{
		Spec:  spec,
		ports: []int{layout.KubeletPort, layout.KubeletHealth},
		ready: func(ctx context.Context) error {
			return checkURL(ctx, "http://"+layout.Address(layout.KubeletHealth)+"/healthz")
		},
		limit: startLimit,
	}
}

// PullInParallel restarts the kubelet with a new maximum number of concurrent pulls. RestorePulls, Restore or the next
// Up reverts the change.
func (n Node) PullInParallel(ctx context.Context, most int) error {
	return n.restartKubelet(ctx, map[string]any{
		"serializeImagePulls": false, "maxParallelImagePulls": most, "registryPullQPS": 0})
}

// PullSerially restarts the kubelet so that it pulls one image at a time. If the stack configures parallel pulls,
// PullSerially overrides this setting. RestorePulls, Restore or the next Up reverts the change.
func (n Node) PullSerially(ctx context.Context) error {
	return n.restartKubelet(ctx, map[string]any{"serializeImagePulls": true, "maxParallelImagePulls": 1})
}

// RestorePulls reverts PullInParallel and PullSerially: the kubelet uses the stack's settings for image pulls again.
func (n Node) RestorePulls(ctx context.Context) error { return n.restartKubelet(ctx, nil) }

// restartKubelet restarts the kubelet with additional settings. If the kubelet already runs with exactly these
// settings, restartKubelet does nothing.
func (n Node) restartKubelet(ctx context.Context, settings map[string]any) error {
	if err := n.writeKubeletConfig(settings); err != nil {
		return err
	}
	if err := n.ensureRunning(n.kubelet()); err != nil {
		return err
	}
	if err := n.awaitReady(ctx, n.kubelet()); err != nil {
		return err
	}
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	return n.awaitNode(ctx, client)
}

// writeKubeletConfig writes the kubelet's configuration. The settings of n.Stack override the lab's default settings.
// The argument "settings" overrides the settings of n.Stack and the default settings. The lab keeps the kubelet's
// default of one pull at a time, because scenarios test the pull queue.
func (n Node) writeKubeletConfig(settings map[string]any) error {
	type object = map[string]any
	config := object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": layout.Loopback, "port": layout.KubeletPort, "readOnlyPort": 0,
		"healthzBindAddress": layout.Loopback, "healthzPort": layout.KubeletHealth,
		"tlsCertFile": n.certificate(serving + ".crt"), "tlsPrivateKeyFile": n.certificate(serving + ".key"),
		"authentication": object{"anonymous": object{"enabled": false}, "webhook": object{"enabled": false},
			"x509": object{"clientCAFile": n.certificate("ca.crt")}},
		// The kubelet must ask the API server whether a request is allowed. The kubelet trusts the certificate
		// authority that signed the agent's certificate. In the mode AlwaysAllow, the agent would therefore have full
		// access to the kubelet.
		"authorization":            object{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + n.ContainerdSocket(),

		// The kubelet must not create cgroups for pods, because the machine's cgroup hierarchy does not belong to the
		// lab. The lab needs only the cgroup that containerd creates for each container. The configuration works with
		// cgroup v1 and cgroup v2.
		"failCgroupV1": false, "cgroupDriver": "cgroupfs", "cgroupsPerQOS": false, "enforceNodeAllocatable": []string{},

		// The following settings prevent the kubelet from changing parts of the machine that do not belong to the lab.
		"failSwapOn": false, "localStorageCapacityIsolation": false, "makeIPTablesUtilChains": false,
		"oomScoreAdj": 0, "shutdownGracePeriod": "0s", "enableSystemLogHandler": false,
		// The kubelet must not remove images during a measurement, even if the disk is full.
		"imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
		"evictionHard": object{"memory.available": "1Mi", "nodefs.available": "1Mi", "imagefs.available": "1Mi"},

		"podLogsDir": n.In("pod-logs"), "volumePluginDir": n.In("kubelet", "volume-plugins"),
		"staticPodPath": n.In("static-pods"),
		"clusterDomain": "cluster.local", "clusterDNS": []string{dnsServiceAddress},
		"rotateCertificates": false, "registerNode": true,
	}
	maps.Copy(config, n.Stack.Kubelet)
	maps.Copy(config, settings)
	data, err := json.MarshalIndent(config, "", " ")
	if err != nil {
		return fmt.Errorf("encode the kubelet's configuration: %w", err)
	}
	return writeFile(n.In("kubelet.json"), string(data)+"\n")
}

// KubeletLog returns the path of the kubelet's log.
func (n Node) KubeletLog() string { return filepath.Join(n.Logs(), kubeletName+".log") }
