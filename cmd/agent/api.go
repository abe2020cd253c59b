package main

import (
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/eventwatch"
	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

// apiServer holds the clients for the API server, the estimate of the API server's clock, and the request counters.
type apiServer struct {
	config  *rest.Config
	pods    rest.Interface // client that reads pods; impersonates the node if --impersonate-node is set
	own     rest.Interface // client with the agent's own identity
	events  rest.Interface // client for Event watches, with the agent's own identity
	clock   *kubeclient.Clock
	traffic *kubeclient.Traffic
}

// newAPIServer prepares the clients but does not connect. An error means that the configuration is invalid.
func newAPIServer(c config) (apiServer, error) {
	api := apiServer{clock: kubeclient.NewClock(time.Now), traffic: kubeclient.NewTraffic()}
	var err error
	if api.config, err = kubeclient.LoadConfig(c.kubeconfig, api.clock, api.traffic); err == nil {
		api.own, err = kubeclient.New(api.config)
	}
	if err == nil {
		api.events, err = eventwatch.NewClient(api.config)
	}
	if err == nil {
		api.pods, err = api.podClient(c)
	}
	if err != nil {
		return apiServer{}, fmt.Errorf("--kubeconfig: %w", err)
	}
	return api, nil
}

// podClient returns the client that reads pods. With --impersonate-node, the returned client impersonates the node. If
// a feature requires all fields of pod objects, the returned client decodes whole objects.
func (api apiServer) podClient(c config) (rest.Interface, error) {
	config := api.config
	if c.asNode {
		config = kubeclient.AsNode(config, c.nodeName)
	}
	if c.wholePods() {
		return kubeclient.New(config)
	}
	return podwatch.NewClient(config)
}
