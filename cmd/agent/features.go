package main

import (
	"context"
	"io"
	"time"

	"github.com/podlapse/podlapse/internal/feature"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

// featureTable lists the flags of the features in compat.go. In the table of all flags, --node-name and --cri-endpoint
// must come before the flags of the features: see forFeatures.
func (c *config) featureTable() (table flags.Table) {
	c.features = c.compatibility()
	for _, f := range c.features {
		table = append(table, f.Flags...)
	}
	return table
}

// forFeatures returns the part of the agent's configuration that features need when they validate their flags. The
// returned values are complete only after the agent has parsed --node-name and --cri-endpoint.
func (c *config) forFeatures() feature.Node {
	return feature.Node{Name: c.nodeName, Runtime: !c.criEndpoint.Off()}
}

// wholePods reports whether an enabled feature requires all fields of pod objects.
func (c config) wholePods() bool {
	for _, f := range c.features {
		if f.WholePods != nil && f.WholePods() {
			return true
		}
	}
	return false
}

// features holds the hooks of the running features.
type features []feature.Hooks

func startFeatures(d deps, k *core) features {
	agent := feature.Agent{
		NodeName: d.config.nodeName, Client: d.api.own, Registerer: d.registry, Health: d.board, Logger: d.logger,
		Timelines: k.someTimelines, Present: k.presentTimelines,
	}
	if !d.config.criEndpoint.Off() {
		agent.PingRuntime = k.pingRuntime
	}
	var started features
	for _, f := range d.config.features {
		started = append(started, f.Start(agent))
	}
	return started
}

func (all features) followers() (list podFollowers) {
	for _, f := range all {
		if f.Follower != nil {
			list = append(list, f.Follower)
		}
	}
	return list
}

// podWatch lets the features change the configuration of the pod watch.
func (all features) podWatch(config *podwatch.Config) {
	for _, f := range all {
		if f.PodWatch != nil {
			f.PodWatch(config)
		}
	}
}

// eventDelay returns the function that receives the delay of each Event. If no feature uses the delays, the result is
// nil.
func (all features) eventDelay() func(late time.Duration) {
	for _, f := range all {
		if f.EventDelay != nil {
			return f.EventDelay
		}
	}
	return nil
}

// notifyChanged passes the UID of a changed pod to the features.
func (all features) notifyChanged(uid string) {
	for _, f := range all {
		if f.Changed != nil {
			f.Changed(uid)
		}
	}
}

// writePods returns the function that writes the pod objects for the read API. If no feature keeps the objects, the
// result is nil.
func (all features) writePods() func(w io.Writer, want func(namespace, name, labels string) bool) error {
	for _, f := range all {
		if f.WritePods != nil {
			return f.WritePods
		}
	}
	return nil
}

func (all features) components() (list []component) {
	for _, f := range all {
		if f.Components == nil {
			continue
		}
		for _, c := range f.Components() {
			part := component{c.Name, stageSources, c.Run}
			if c.Last {
				part.stage = stageSinks
			}
			list = append(list, part)
		}
	}
	return list
}

// checkFeatures tests whether the agent has the permissions that the features require.
func (k controlPlane) checkFeatures() (findings []finding) {
	api := feature.APIServer{
		Client: k.api.own,
		May: func(ctx context.Context, verb, group, resource string) (bool, error) {
			return k.mayI(ctx, action{verb, group, resource})
		},
		RequestFailed: func(subject string, err error) feature.Finding {
			f := failedRequest(subject, err)
			return feature.Finding{Subject: f.subject, Failed: true, Detail: f.detail, Remedy: f.remedy}
		},
	}
	for _, f := range k.c.features {
		if f.CheckAPI != nil {
			findings = append(findings, featureFindings(f.CheckAPI(k.ctx, api))...)
		}
	}
	return findings
}

// checkFeatures tests all requirements of the features except permissions.
func checkFeatures(c config) (findings []finding) {
	for _, f := range c.features {
		if f.Check != nil {
			findings = append(findings, featureFindings(f.Check())...)
		}
	}
	return findings
}

func featureFindings(found []feature.Finding) (findings []finding) {
	for _, f := range found {
		outcome := checkOK
		if f.Failed {
			outcome = checkFailed
		}
		findings = append(findings, finding{f.Subject, outcome, f.Detail, f.Remedy})
	}
	return findings
}
