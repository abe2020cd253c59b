package timeline

import "time"

// ProbeTiming holds fields of a probe's spec. These fields determine when the kubelet can detect that a container is
// ready.
type ProbeTiming struct {
	InitialDelay time.Duration `json:"initial_delay,omitzero"` // initialDelaySeconds
	Period       time.Duration `json:"period,omitzero"`        // periodSeconds; the API server ensures at least 1 s
	Timeout      time.Duration `json:"timeout,omitzero"`       // timeoutSeconds
	Successes    int           `json:"successes,omitzero"`     // successThreshold
}

// ProbeKind is the kind of a probe that a start-up waits for.
type ProbeKind string

// The kinds of probe.
const (
	ProbeStartup   ProbeKind = "startup"
	ProbeReadiness ProbeKind = "readiness"
)

// Probe is a startup probe or a readiness probe of a container.
type Probe struct {
	Container string
	Kind      ProbeKind
	ProbeTiming
}

// probesOf returns the probes whose timing is known, in the order in which the kubelet starts the containers.
func probesOf(containers []*Container) (probes []Probe) {
	for _, c := range containers {
		if c.StartupTiming.Period > 0 {
			probes = append(probes, Probe{c.Name, ProbeStartup, c.StartupTiming})
		}
		if c.ReadinessTiming.Period > 0 {
			probes = append(probes, Probe{c.Name, ProbeReadiness, c.ReadinessTiming})
		}
	}
	return probes
}
