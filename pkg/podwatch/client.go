package podwatch

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// userAgent names the agent in the API server's audit log and metrics.
const userAgent = "podlapse-agent"

// NewRESTClient makes a client for core/v1 from a kubeconfig file, or from the pod's service account
// when kubeconfig is empty. It knows core/v1 alone: the full clientset's scheme costs a node agent
// megabytes. It does not connect; it fails only when the configuration cannot be read. The clock gets what
// every answer tells of the API server's, and the traffic counts all.
func NewRESTClient(kubeconfig string, clock *Clock, traffic *Traffic) (rest.Interface, error) {
	config, err := loadConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Wrap(clock.read)
	config.Wrap(traffic.count)
	return newRESTClient(config)
}

func loadConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("read in-cluster configuration (outside a cluster, name a kubeconfig): %w", err)
		}
		return config, nil
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	return config, nil
}

func newRESTClient(config *rest.Config) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build core/v1 scheme: %w", err)
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.APIPath = "/api"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.UserAgent = userAgent
	config.QPS, config.Burst = 5, 10          // lists only: client-go does not count watches
	config.Timeout = 0                        // it would cut watches as well; requests here bound themselves
	config.WarningHandler = rest.NoWarnings{} // it would write to stderr
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("build API client: %w", err)
	}
	return client, nil
}
