// Package floor contains the cheapest program that can watch the pods of a node. The program is a client-go reflector
// that only stores the pods. If Config.Socket is set, the program also queries the container runtime. The program sends
// only the queries that every agent needs to report the runtime's timestamps. The lab compares the agent's CPU time
// with the CPU time of this program.
package floor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	kubeconfig "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/podlapse/podlapse/lab/internal/cri"
)

// Config contains the arguments of the program.
type Config struct {
	Kubeconfig string
	Node       string // name of the node
	Ready      string // path of a file; the program creates this file after it has listed the pods
	Socket     string // the runtime's socket; if empty, the program sends no queries to the runtime
}

// Run follows the node's pods until ctx ends. Like the agent, the program requests protobuf, which is the cheapest
// format to decode.
func Run(ctx context.Context, c Config) error {
	config, err := readConnection(c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig %s: %w", c.Kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	pods := cache.NewStore(cache.MetaNamespaceKeyFunc)
	if c.Socket != "" {
		criClient, err := cri.Dial(c.Socket)
		if err != nil {
			return err
		}
		defer criClient.Close()
		a := &runtimePoller{Store: pods, runtime: criClient, changes: make(chan *corev1.Pod, maxChanges)}
		pods = a
		var asking sync.WaitGroup
		defer asking.Wait()
		asking.Go(func() { a.poll(ctx) })
	}
	store := &listedMarker{Store: pods, ready: c.Ready}
	source := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll,
		fields.OneTermEqualSelector("spec.nodeName", c.Node))
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, client),
		&corev1.Pod{}, store, cache.ReflectorOptions{Name: "floor"})
	reflector.RunWithContext(ctx)
	return nil
}

// readConnection reads a kubeconfig that has one cluster and one user, like each kubeconfig of the lab. readConnection
// does not use the package clientcmd. With clientcmd, the lab would need a different version of the module pflag than
// the node's programs.
func readConnection(path string) (*rest.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var config kubeconfig.Config
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	if len(config.Clusters) != 1 || len(config.AuthInfos) != 1 {
		return nil, errors.New("the kubeconfig must have exactly one cluster and one user")
	}
	cluster, user := config.Clusters[0].Cluster, config.AuthInfos[0].AuthInfo
	return &rest.Config{
		Host: cluster.Server, BearerToken: user.Token, BearerTokenFile: user.TokenFile,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile: cluster.CertificateAuthority, CAData: cluster.CertificateAuthorityData,
			CertFile: user.ClientCertificate, CertData: user.ClientCertificateData,
			KeyFile: user.ClientKey, KeyData: user.ClientKeyData,
		},
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf},
	}, nil
}

// listedMarker is a store that also creates a file after the reflector has listed the pods.
type listedMarker struct {
	cache.Store
	ready string
}

// Replace implements cache.Store.
func (l *listedMarker) Replace(objects []any, revision string) error {
	if err := l.Store.Replace(objects, revision); err != nil {
		return err
	}
	return os.WriteFile(l.ready, nil, 0o600)
}
