package kubeclient

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// userAgent identifies the agent in the API server's audit log and metrics.
const userAgent = "podlapse-agent"

// LoadConfig reads how to reach the API server from a kubeconfig file, or from the pod's service
// account if kubeconfig is empty. It does not connect, and fails only if the configuration cannot
// be read. clock learns the API server's time from every response to a client of this
// configuration, and traffic counts all requests.
func LoadConfig(kubeconfig string, clock *Clock, traffic *Traffic) (*rest.Config, error) {
	config, err := loadConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = userAgent
	config.WarningHandler = rest.NoWarnings{} // the default handler writes to stderr
	config.Wrap(boundBuffers)
	config.Wrap(clock.read)
	config.Wrap(traffic.count)
	return config, nil
}

func loadConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("read in-cluster configuration: %w; outside a cluster, set a kubeconfig", err)
		}
		return config, nil
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	return config, nil
}

// AsNode returns the configuration for requests in the name of a node. Since Kubernetes 1.36, a
// pod's service account may impersonate only the node on which that pod runs, and only for the
// verbs and resources that RBAC allows (constrained impersonation, mode associated-node). The Node authorizer then
// allows access to that node's pods only. The configuration must set only the user name: with groups, it would be
// another kind of impersonation.
func AsNode(config *rest.Config, node string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + node}
	return config
}

// roundTrip adapts a function to http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
