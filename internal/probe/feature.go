package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/podlapse/podlapse/internal/feature"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// part is the name of this feature on the health board and in the findings of the command `check`.
const part = "probes"

// settings holds the values of the feature's flags.
type settings struct {
	agent   func() feature.Node // call it only after the agent has parsed its own flags
	address netip.Addr          // address of the node; the zero address if unset
	load    func() (Config, error)
	read    Config // configuration in the file when the agent starts
}

// Feature returns the probes as a removable feature. The feature has the flags --node-address and --probes-file, and
// runs the probes. While the flag parser validates --probes-file, it calls the function "node". The function "node"
// uses the values of the agent's own flags, so the agent must parse its own flags first.
func Feature(node func() feature.Node) feature.Feature {
	s := &settings{agent: node}
	return feature.Feature{
		Flags: s.table(),
		Check: func() []feature.Finding {
			if s.load == nil {
				return nil
			}
			// The flag parser has already validated the file. The command `check` does not run probes.
			return []feature.Finding{{Subject: part, Detail: s.read.String()}}
		},
		Start: func(agent feature.Agent) feature.Hooks {
			if s.load == nil {
				return feature.Hooks{}
			}
			return feature.Hooks{Components: func() []feature.Component {
				return []feature.Component{{Name: part, Run: s.runner(agent).Run}}
			}}
		},
	}
}

func (s *settings) table() flags.Table {
	return flags.Table{
		{
			Name: "node-address", Variable: "NODE_ADDRESS", Value: "IP",
			Help: "IP address of the node. The agent replaces $(NODE_ADDRESS) in the probes file with this address. " +
				"In a pod, replace this flag with the environment variable NODE_ADDRESS, and set the variable from " +
				"the pod field status.hostIP", Set: s.setAddress,
		},
		{
			Name: "probes-file", Variable: "PROBES_FILE", Value: "FILE",
			Help: "YAML file with periodic probes of DNS names, ports, HTTP servers, registries, the runtime and " +
				"the API server (docs/probes.md). After each change, the agent reads the file again", Set: s.setFile,
		},
	}
}

func (s *settings) setAddress(value string) error {
	if s.address = (netip.Addr{}); value == "" {
		return nil
	}
	address, err := netip.ParseAddr(value)
	if err != nil || address.Zone() != "" {
		return fmt.Errorf("invalid IP address %.80q: must be an address without a zone, for example 10.0.0.7", value)
	}
	s.address = address
	return nil
}

func (s *settings) setFile(value string) (err error) {
	if value == "" {
		return nil
	}
	agent := s.agent()
	node := Node{Name: agent.Name, Address: s.address}
	s.load = func() (Config, error) { return loadFor(value, node, agent.Runtime) }
	s.read, err = s.load()
	return err
}

func loadFor(path string, node Node, runtime bool) (Config, error) {
	config, err := Load(path, node)
	if err != nil {
		return Config{}, err
	}
	if !runtime && slices.ContainsFunc(config.Probes, func(p Probe) bool { return p.Kind == KindCRI }) {
		return Config{}, errors.New("probes of kind \"cri\" require a container runtime: remove these probes, or " +
			"set --cri-endpoint=auto")
	}
	return config, nil
}

func (s *settings) runner(agent feature.Agent) *Runner {
	return NewRunner(RunnerConfig{
		Config: s.read, Load: s.load, Recorder: NewMetrics(agent.Registerer, s.read.Probes),
		APIServer: requestVersion(agent.Client), Runtime: agent.PingRuntime,
		Pulled: func(ctx context.Context) []string {
			present, _ := agent.Present(ctx) // Present returns no pods while the agent is stopping
			return pulledFrom(present)
		},
		Report: agent.Health.Register(part, "not started yet"), Logger: agent.Logger.Named("probe"),
	})
}

// requestVersion requests the API server's version. Every account can read the version, and the API server responds
// without a query to etcd.
func requestVersion(client rest.Interface) RoundTrip {
	return func(ctx context.Context) error {
		return client.Get().AbsPath("/version").MaxRetries(0).
			Throttle(flowcontrol.NewFakeAlwaysRateLimiter()). // do not measure waits for the client's rate limiter
			Do(ctx).Error()
	}
}

// pulledFrom lists the registries of the pods' images, the most used registry first. pulledFrom counts only confirmed
// pulls, because a user can write any registry name into a pod or an Event.
func pulledFrom(pods []timeline.Timeline) []string {
	pulls := map[string]int{}
	for _, t := range pods {
		for _, p := range t.Pulls {
			if !p.Confirmed {
				continue
			}
			switch p.Outcome {
			case imagepull.OutcomeDownloaded, imagepull.OutcomeVerified, imagepull.OutcomeJoined:
				pulls[p.Registry]++
			}
		}
	}
	delete(pulls, imagepull.UnknownRegistry)
	return slices.SortedFunc(maps.Keys(pulls), func(a, b string) int {
		return cmp.Or(cmp.Compare(pulls[b], pulls[a]), cmp.Compare(a, b))
	})
}
