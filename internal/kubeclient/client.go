package kubeclient

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// New creates a client for core/v1. The client supports only core/v1, because the types of all API groups (the scheme
// of the full clientset) take megabytes of memory. Clients with the same configuration share their connections.
func New(config *rest.Config) (rest.Interface, error) {
	return NewWithFrames(config, func(runtime.SerializerInfo) (Frames, error) { return Frames{}, nil })
}

// NewWithFrames creates a client like New. In addition, the client can limit and convert the events of watches. The
// function framesOf returns the settings (Frames) for each encoding, such as protobuf.
func NewWithFrames(
	config *rest.Config, framesOf func(runtime.SerializerInfo) (Frames, error),
) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build core/v1 scheme: %w", err)
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.APIPath = "/api"
	var err error
	config.NegotiatedSerializer, err = withFrames(serializer.NewCodecFactory(scheme).WithoutConversion(), framesOf)
	if err != nil {
		return nil, fmt.Errorf("build serializer: %w", err)
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if config.QPS == 0 {
		config.QPS, config.Burst = 5, 10 // limits only lists, because client-go does not limit watches
	}
	config.Timeout = 0 // a timeout would also end watches; each request has its own timeout
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("build API client: %w", err)
	}
	return client, nil
}
