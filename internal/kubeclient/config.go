package kubeclient

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// userAgent identifies the agent in the API server's audit log and metrics.
const userAgent = "podlapse-agent"

// LoadConfig reads the configuration for the API server from a kubeconfig file. If kubeconfig is empty, LoadConfig uses
// the pod's ServiceAccount. LoadConfig does not connect, and fails only if the configuration is unreadable. All clients
// with this configuration share the Clock and the Traffic. The Clock reads the API server's time from the responses.
// The Traffic counts the requests.
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
			return nil, fmt.Errorf("read in-cluster configuration: %w; outside a cluster, set --kubeconfig", err)
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

// AsNode returns a configuration for requests that impersonate a node. Kubernetes 1.36 and later support constrained
// impersonation with the mode associated-node. In this mode, a pod's ServiceAccount can impersonate only the node on
// which the pod runs. RBAC limits the verbs and resources of these requests. The Node authorizer limits the requests to
// the pods of the node. AsNode sets the user name to impersonate, but no groups. With groups, the API server would use
// another mode of impersonation.
func AsNode(config *rest.Config, node string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + node}
	return config
}

// roundTrip adapts a function to http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
