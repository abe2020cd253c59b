package main

import (
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/pkg/podwatch"
)

// apiServer is how the agent reaches the API server, and what it learns of it by the way.
type apiServer struct {
	config  *rest.Config
	pods    rest.Interface // in the node's name when --impersonate-node is on
	own     rest.Interface // in the agent's own
	events  rest.Interface // the same, for watches of Events alone
	clock   *podwatch.Clock
	traffic *podwatch.Traffic
}

// newAPIServer does not connect. Its error is one of the settings.
func newAPIServer(c config) (apiServer, error) {
	api := apiServer{clock: podwatch.NewClock(time.Now), traffic: podwatch.NewTraffic()}
	var err error
	if api.config, err = podwatch.LoadConfig(c.kubeconfig, api.clock, api.traffic); err == nil {
		api.own, err = podwatch.NewRESTClient(api.config)
	}
	if err == nil {
		api.events, err = podwatch.NewEventClient(api.config)
	}
	if err == nil {
		api.pods, err = api.podClient(c)
	}
	if err != nil {
		return apiServer{}, fmt.Errorf("--kubeconfig: %w", err)
	}
	return api, nil
}

// podClient is for pods alone: in the node's name, if that is wanted, and of whole objects only if they are served.
func (api apiServer) podClient(c config) (rest.Interface, error) {
	config := api.config
	if c.asNode {
		config = podwatch.AsNode(config, c.nodeName)
	}
	if c.serveObjects {
		return podwatch.NewRESTClient(config)
	}
	return podwatch.NewPodClient(config)
}
