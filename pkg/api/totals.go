package api

import "github.com/podlapse/podlapse/pkg/timeline"

// TotalsRecord contains the totals of a node's start-ups that ended in a time window. TotalsRecord contains all
// values that are necessary to compute node factors and registry factors (docs/monitoring.md).
type TotalsRecord struct {
	Node string  `json:"node"`
	At   Instant `json:"at"`
	// Ended is the number of start-ups that ended with any result. Started is the number of start-ups whose pod became
	// ready or succeeded.
	Ended   int `json:"ended"`
	Started int `json:"started"`
	// Unreported counts the milestones that the container runtime can never report, in all ended start-ups. For
	// example, CRI-O never reports the end of the network setup.
	Unreported int `json:"unreported_milestones"`
	// Phases contains the phases of the start-ups whose pod became ready or succeeded. The list is sorted by name.
	Phases []PhaseTotals `json:"phases"`
	// Merged lists the phases that the evidence could not separate from other phases. The list is sorted by name.
	Merged []timeline.Phase `json:"merged"`
	// Registries contains the totals of each registry that a pull used, sorted by name. If an image is already on the
	// node, there is no pull.
	Registries []RegistryTotals `json:"registries"`
}

// PhaseTotals contains how often a phase occurred, and its total duration.
type PhaseTotals struct {
	Phase  timeline.Phase `json:"phase"`
	Length Seconds        `json:"seconds"` // total duration
	Steps  int            `json:"steps"`   // number of occurrences; a phase can occur once for each container of a pod
}

// OtherRegistries is the name of the entry that contains the sum of all registries without their own entries.
const OtherRegistries = "other"

// MaxRegistryTotals is the maximum number of registries with their own totals. In responses of /api/v1/totals, the
// registries with the most pulls get their own totals.
const MaxRegistryTotals = 100

// RegistryTotals contains the totals of the pulls from one registry.
type RegistryTotals struct {
	Registry string `json:"registry"`
	PullTotals
	Durations []DurationBucket `json:"durations"`      // covers the pulls that Pulls counts; sorted by Bucket
	Unpack    Seconds          `json:"unpack_seconds"` // total time in which the runtime unpacked layers
}

// PullTotals contains the number, the total duration and the total size of several pulls.
type PullTotals struct {
	// Pulls is the number of pulls that downloaded content and have a known duration. Pulls excludes resumed pulls:
	// before a resumed pull, an interrupted attempt might have downloaded some layers. Length is the total duration of
	// the pulls that Pulls counts.
	Pulls  int     `json:"pulls"`
	Length Seconds `json:"seconds"`
	// Bytes is the number of downloaded bytes of the pulls with a known size. Pulls and Bytes can cover different
	// pulls. For example, Bytes omits the pulls whose bytes are unknown.
	Bytes int64 `json:"bytes"`
	// Sized contains the totals of the sized pulls. A sized pull downloaded content, and its duration and its own bytes
	// are known (PullRecord.Sized). The node factor and the registry factor ignore all other pulls.
	Sized    SizedTotals `json:"sized"`
	Failures int         `json:"failures"` // failed pulls, including pulls of start-ups in progress
	// InProgress is the number of pulls in progress. InProgress is 0 if the request sets the end of the time window.
	InProgress int `json:"in_progress"`
}

// Add adds the values of "other" to p. The two totals must not count the same pull.
func (p *PullTotals) Add(other PullTotals) {
	p.Pulls += other.Pulls
	p.Length += other.Length
	p.Bytes += other.Bytes
	p.Sized.Add(other.Sized)
	p.Failures += other.Failures
	p.InProgress += other.InProgress
}

// SizedTotals contains the totals of sized pulls (PullRecord.Sized). All fields cover the same pulls.
type SizedTotals struct {
	Pulls  int     `json:"pulls"`
	Length Seconds `json:"seconds"`
	Bytes  int64   `json:"bytes"`          // downloaded bytes
	Unpack Seconds `json:"unpack_seconds"` // total time in which the runtime unpacked layers
}

// Add adds the values of "other" to s.
func (s *SizedTotals) Add(other SizedTotals) {
	s.Pulls += other.Pulls
	s.Length += other.Length
	s.Bytes += other.Bytes
	s.Unpack += other.Unpack
}

// DurationBucket contains the number and the total duration of pulls with similar durations. The buckets use the bucket
// numbers of a Prometheus native histogram with schema 3. Bucket i contains durations above 2^((i-1)/8) s, up to and
// including 2^(i/8) s. The first bucket also contains all shorter durations, and the last bucket also contains all
// longer durations.
type DurationBucket struct {
	Bucket int     `json:"bucket"`
	Pulls  int     `json:"pulls"`
	Length Seconds `json:"seconds"` // total duration of the pulls
}
