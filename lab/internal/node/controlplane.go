package node

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// serviceRange contains the addresses of Services. The API server's own Service "kubernetes" has the address
// firstServiceAddress.
const (
	serviceRange        = "127.1.0.0/16"
	firstServiceAddress = "127.1.0.1"
	// No DNS server listens at this address. Without an address in its configuration, the kubelet would create Events
	// about the missing DNS.
	dnsServiceAddress = "127.1.0.10"
)

// startLimit is the longest time that a component may take to start. The limit is long, because other programs can slow
// down the machine.
const startLimit = 90 * time.Second

func (n Node) etcd() component {
	client, peer := "https://"+layout.Address(layout.EtcdPort), "https://"+layout.Address(layout.EtcdPeerPort)
	ca, crt, key := n.certificate("ca.crt"), n.certificate(serving+".crt"), n.certificate(serving+".key")
	return component{
		Spec: process.Spec{Name: etcdName, Path: n.Programs.Tool("etcd"), Args: []string{
			"--name=" + layout.NodeName, "--data-dir=" + n.In("etcd"),
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=" + layout.NodeName + "=" + peer,
			"--cert-file=" + crt, "--key-file=" + key, "--trusted-ca-file=" + ca, "--client-cert-auth",
			"--peer-cert-file=" + crt, "--peer-key-file=" + key, "--peer-trusted-ca-file=" + ca,
			"--peer-client-cert-auth",
			// The data of etcd does not have to survive a power failure. Waiting for slow disks would affect the
			// measurements.
			"--unsafe-no-fsync", "--log-level=warn",
		}, Inputs: []string{crt}},
		ports: []int{layout.EtcdPort, layout.EtcdPeerPort},
		ready: n.healthOf(layout.EtcdPort, etcdClient, "/health"),
		limit: startLimit,
	}
}

// apiServer returns the component that runs the API server with the given additional flags.
func (n Node) apiServer(flags ...string) component {
	ca := n.certificate("ca.crt")
	return component{
		Spec: process.Spec{Name: apiServerName, Path: n.Programs.Tool(apiServerName), Args: append([]string{
			"--bind-address=" + layout.Loopback, "--advertise-address=" + layout.Loopback,
			fmt.Sprintf("--secure-port=%d", layout.APIServerPort),
			"--tls-cert-file=" + n.certificate(serving+".crt"),
			"--tls-private-key-file=" + n.certificate(serving+".key"), "--client-ca-file=" + ca,
			"--etcd-servers=https://" + layout.Address(layout.EtcdPort), "--etcd-cafile=" + ca,
			"--etcd-certfile=" + n.certificate(etcdClient+".crt"), "--etcd-keyfile=" + n.certificate(etcdClient+".key"),
			// The API server must not publish its address as an endpoint, because other nodes cannot use a loopback
			// address.
			"--endpoint-reconciler-type=none",
			"--service-cluster-ip-range=" + serviceRange,
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + n.certificate(tokenKey+".pub"),
			"--service-account-signing-key-file=" + n.certificate(tokenKey+".key"),
			// The lab has no front proxy, but sets the client CA that a front proxy would need. Without this CA, the
			// controller manager and the scheduler log an error every few seconds.
			"--requestheader-client-ca-file=" + ca, "--requestheader-allowed-names=nobody",
			"--requestheader-username-headers=X-Remote-User",
			// With more workers, the API server needs less time to delete namespaces with thousands of Events.
			"--delete-collection-workers=8",
			"--kubelet-client-certificate=" + n.certificate(adminUser+".crt"),
			"--kubelet-client-key=" + n.certificate(adminUser+".key"), "--kubelet-certificate-authority=" + ca,
			// Scenarios read the audit log to find out which permissions an account uses.
			"--audit-policy-file=" + n.auditPolicy(), "--audit-log-path=" + n.AuditLog(), "--audit-log-maxsize=20",
			"--audit-log-maxbackup=1",
		}, flags...), Inputs: []string{ca, n.auditPolicy()}},
		ports: []int{layout.APIServerPort},
		ready: n.healthOf(layout.APIServerPort, adminUser, "/readyz"),
		limit: startLimit,
	}
}

// DisableStreamingLists restarts the API server without the feature WatchList, as in older versions of Kubernetes.
// Without this feature, clients send a list request before a watch request. EnableStreamingLists, Restore or the next
// Up reverts the change.
func (n Node) DisableStreamingLists(ctx context.Context) error {
	return n.restartAPIServer(ctx, "--feature-gates=WatchList=false")
}

// EnableStreamingLists reverts DisableStreamingLists.
func (n Node) EnableStreamingLists(ctx context.Context) error { return n.restartAPIServer(ctx) }

// ReachPodsThrough restarts the API server with a proxy for its connections to pods. The API server then reaches pods
// only through this proxy, like an API server outside the cluster's network. The argument "socket" is the path of the
// proxy's Unix socket. Restore or the next Up reverts the change. EnableStreamingLists also reverts the change, because
// it restarts the API server with its usual flags.
func (n Node) ReachPodsThrough(ctx context.Context, socket string) error {
	path := n.In("egress.yaml")
	config := "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n" +
		"- name: cluster\n  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: " + socket + "}}}\n"
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return fmt.Errorf("write the API server's egress configuration: %w", err)
	}
	return n.restartAPIServer(ctx, "--egress-selector-config-file="+path)
}

// restartAPIServer restarts the API server with the given flags and waits until the API server is ready. If the API
// server already runs with exactly these flags, restartAPIServer only waits.
func (n Node) restartAPIServer(ctx context.Context, flags ...string) error {
	before, _ := n.table().Get(apiServerName)
	if err := n.ensureRunning(n.apiServer(flags...)); err != nil {
		return err
	}
	if err := n.awaitReady(ctx, n.apiServer(flags...)); err != nil {
		return err
	}
	if now, _ := n.table().Get(apiServerName); now.PID == before.PID {
		return nil
	}
	return n.Reconnect(ctx)
}

// Reconnect restarts the kubelet, the controller manager and the scheduler. Call Reconnect after an outage of the API
// server. Without the restart, these clients would wait up to half a minute before they try to connect again.
func (n Node) Reconnect(ctx context.Context) error {
	if err := n.stopComponents(5*time.Second, kubeletName, controllerName, schedulerName); err != nil {
		return err
	}
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	return n.startClients(ctx, client)
}

func (n Node) controllerManager() component {
	kubeconfig := n.Kubeconfig(controllerUser)
	return component{
		Spec: process.Spec{Name: controllerName, Path: n.Programs.Tool(controllerName), Args: append(
			n.controllerFlags(kubeconfig, layout.ControllerPort),
			"--root-ca-file="+n.certificate("ca.crt"), "--use-service-account-credentials",
			"--service-account-private-key-file="+n.certificate(tokenKey+".key"),
			// The controller manager creates the service accounts of its controllers one after the other. At the
			// default rate limit, the creation of all accounts takes five seconds.
			"--kube-api-qps=200", "--kube-api-burst=400",
			// The controller manager creates the directory that this flag specifies. The default directory is outside
			// the lab.
			"--flex-volume-plugin-dir="+n.In("flex-volumes"),
		), Inputs: []string{kubeconfig}},
		ports: []int{layout.ControllerPort},
		ready: n.healthOf(layout.ControllerPort, adminUser, "/healthz"),
		limit: startLimit,
	}
}

func (n Node) scheduler() component {
	kubeconfig := n.Kubeconfig(schedulerUser)
	return component{
		Spec: process.Spec{Name: schedulerName, Path: n.Programs.Tool(schedulerName),
			Args: n.controllerFlags(kubeconfig, layout.SchedulerPort), Inputs: []string{kubeconfig}},
		ports: []int{layout.SchedulerPort},
		ready: n.healthOf(layout.SchedulerPort, adminUser, "/healthz"),
		limit: startLimit,
	}
}

// controllerFlags returns the flags that are the same for the controller manager and the scheduler.
func (n Node) controllerFlags(kubeconfig string, port int) []string {
	return []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + layout.Loopback, fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + n.certificate(serving+".crt"), "--tls-private-key-file=" + n.certificate(serving+".key"),
		"--leader-elect=false", // leader election is not necessary for a single instance
	}
}

// healthOf returns a function that checks the health of a component. The function requests a path over HTTPS, with the
// client certificate of the given user.
func (n Node) healthOf(port int, user, path string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		client, err := kube.New(layout.Address(port), n.certificates(), user)
		if err != nil {
			return err
		}
		defer client.Close()
		_, err = client.Text(ctx, path)
		return err
	}
}
