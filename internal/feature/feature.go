// Package feature defines how a removable feature connects to the agent. A removable feature consists of one directory,
// and of one import and one line in cmd/agent/compat.go. Package feature does not import any feature.
package feature

import (
	"context"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Feature is a removable feature. The functions of a Feature use the values of its flags. The agent must parse the
// flags before it calls a function of a Feature. Every field except Flags and Start can be nil.
type Feature struct {
	Flags flags.Table
	// WholePods reports whether the pod watch must decode all fields of pod objects.
	WholePods func() bool
	// CheckAPI tests the permissions that the feature requires. Only the command `check` calls CheckAPI.
	CheckAPI func(ctx context.Context, api APIServer) []Finding
	// Check tests all requirements of the feature except permissions. Only the command `check` calls Check.
	Check func() []Finding
	// Start prepares the feature and returns its hooks. If the flags turn the feature off, Start has no effect and
	// returns no hooks.
	Start func(agent Agent) Hooks
}

// Node is the part of the agent's configuration that a feature needs to validate its flags.
type Node struct {
	Name    string
	Runtime bool // false if the agent sends no queries to the container runtime
}

// Agent gives a feature access to the agent. The functions of an Agent work only while the agent's components run.
type Agent struct {
	NodeName   string
	Client     rest.Interface // client for core/v1, with the agent's own identity
	Registerer prometheus.Registerer
	Health     *health.Board
	Logger     *zap.Logger
	// Timelines returns the timelines of the given pods. While a pod starts, the field Partial of its timeline is true.
	Timelines func(ctx context.Context, uids []string) ([]timeline.Timeline, error)
	// Present returns the timelines of all pods of the node.
	Present func(ctx context.Context) ([]timeline.Timeline, error)
	// PingRuntime sends a request to the container runtime. If the agent does not query the container runtime,
	// PingRuntime is nil.
	PingRuntime func(ctx context.Context) error
}

// Hooks connects a running feature to the agent. Every field can be nil.
type Hooks struct {
	// Follower receives the pod objects.
	Follower podwatch.Follower
	// PodWatch changes the configuration of the pod watch.
	PodWatch func(config *podwatch.Config)
	// EventDelay receives the delay of each new Event of this node's kubelet. Several goroutines can call EventDelay at
	// the same time.
	EventDelay func(late time.Duration)
	// Changed receives the UID of each pod whose timeline changed. Changed must not block.
	Changed func(uid string)
	// WritePods writes the pod objects for the read API (web.API).
	WritePods func(w io.Writer, want func(namespace, name, labels string) bool) error
	// Components returns the components that run with the agent. The agent calls Components once, after it has
	// prepared all other parts.
	Components func() []Component
}

// Component is a running part of a feature.
type Component struct {
	Name string // used in error messages
	// Last is true if the component stops late, together with the sinks. If Last is false, the component stops earlier,
	// together with the sources.
	Last bool
	Run  func(ctx context.Context) error // blocks until ctx is done
}

// APIServer gives the command `check` access to the API server.
type APIServer struct {
	Client rest.Interface // client for core/v1, with the agent's own identity
	// May is a function that reports whether RBAC allows the agent's own identity to use the verb on the resource.
	May func(ctx context.Context, verb, group, resource string) (bool, error)
	// RequestFailed returns the finding for a failed request to the API server.
	RequestFailed func(subject string, err error) Finding
}

// Finding is the result of one test of the command `check`.
type Finding struct {
	Subject string
	Failed  bool
	Detail  string
	Remedy  string // empty if Failed is false
}
