package podwatch

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
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

// NewRESTClient creates a client for core/v1 only: the scheme of the full clientset costs a node
// agent megabytes. Clients of one configuration share their connections.
func NewRESTClient(config *rest.Config) (rest.Interface, error) {
	return newRESTClient(config, func(s runtime.NegotiatedSerializer) (runtime.NegotiatedSerializer, error) {
		return s, nil
	})
}

// NewPodClient creates a client for core/v1 whose watches omit what podlapse does not read of pods,
// such as commands, environment and volumes' sources.
func NewPodClient(config *rest.Config) (rest.Interface, error) {
	return newRESTClient(config, func(s runtime.NegotiatedSerializer) (runtime.NegotiatedSerializer, error) {
		return newPrunedPods(s)
	})
}

// NewEventClient creates a client for watches of Events only. It skips an Event that is larger than
// any of the kubelet's before the Event takes memory.
func NewEventClient(config *rest.Config) (rest.Interface, error) {
	return newRESTClient(config, func(s runtime.NegotiatedSerializer) (runtime.NegotiatedSerializer, error) {
		return newSmallEvents(s)
	})
}

func newRESTClient(
	config *rest.Config, adapt func(runtime.NegotiatedSerializer) (runtime.NegotiatedSerializer, error),
) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build core/v1 scheme: %w", err)
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.APIPath = "/api"
	var err error
	if config.NegotiatedSerializer, err = adapt(serializer.NewCodecFactory(scheme).WithoutConversion()); err != nil {
		return nil, fmt.Errorf("build serializer: %w", err)
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.QPS, config.Burst = 5, 10 // lists only: client-go does not count watches
	config.Timeout = 0               // a timeout would end watches as well; requests here have their own
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("build API client: %w", err)
	}
	return client, nil
}
