package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

const (
	// leastOthers limits comparisons. The report compares start-ups or pulls only with at least leastOthers other
	// start-ups or pulls. The node factor has its own minimum: leastUnits in package factor.
	leastOthers = 5
	// leastLost is the minimum lost time of a row. Smaller values are noise.
	leastLost = 100 * time.Millisecond
)

// Report is the result for the whole fleet.
type Report struct {
	Since api.Instant `json:"since"` // time at which the report begins; can be earlier than the requested time
	// From the time CompleteSince on, the sums of all nodes in NodeCount are complete. For example, if the first agent
	// of a node starts after Since, CompleteSince is later than Since. If the time is unknown, CompleteSince is
	// absent.
	CompleteSince api.Instant `json:"complete_since,omitzero"`
	Until         api.Instant `json:"until"`
	Summary       string      `json:"summary"` // one sentence for people; its wording can change
	NodeCount     int         `json:"node_count"`
	StartUps      int         `json:"start_ups"` // start-ups that ended with any result
	Failures      int         `json:"failures"`
	InProgress    int         `json:"in_progress"`
	Seconds       api.Seconds `json:"seconds"`      // total duration of all start-ups
	Lost          api.Seconds `json:"lost_seconds"` // sum of the lost seconds of all causes
	Causes        Section     `json:"causes"`
	Nodes         Section     `json:"nodes"`
	Registries    Section     `json:"registries"`
	Images        Section     `json:"images"`
	Workloads     Section     `json:"workloads"`
	// Notes contains sentences about missing data.
	Notes []string `json:"notes"`
}

// RequestFailed adds notes about the agents that are missing from the report. The argument "count" is the number of
// agents that did not send a valid response. The argument "nodes" contains the known names of the nodes whose agents
// did not send a valid response. The argument "late" is the number of agents that the caller could not query in time.
func (r *Report) RequestFailed(nodes []string, count, late int) {
	if count > 0 {
		note := "the report lacks " + plural(count, "agent", "agents") + " without a valid response"
		if len(nodes) > 0 {
			note += ": " + listOf(nodes)
		}
		r.Notes = append(r.Notes, note)
	}
	if late > 0 {
		r.Notes = append(r.Notes, "the report lacks "+plural(late, "agent that was", "agents that were")+
			" not queried in time: set a longer --timeout")
	}
}

// Parts returns the sections with their headings.
func (r *Report) Parts() []Part {
	return []Part{{"SECONDS LOST BY CAUSE", r.Causes}, {"WORST NODES", r.Nodes}, {"WORST REGISTRIES", r.Registries},
		{"WORST IMAGES", r.Images}, {"WORST WORKLOADS", r.Workloads}}
}

// Part is a section with its heading.
type Part struct {
	Heading string
	Section
}

// Section contains the rows of one kind, the row with the most lost time first.
type Section struct {
	Rows []Row `json:"items"`
	// More is the number of rows that the section omits. Note explains why the section has no rows or lacks some data.
	More int    `json:"more,omitempty"`
	Note string `json:"note,omitempty"`
}

// Row is one cause, node, registry, image or workload.
type Row struct {
	Name string `json:"name"`
	// Factor is the observed time divided by the expected time. Factor is nil in the row of a cause, and in a row
	// without a comparison.
	Factor     *float64    `json:"factor,omitempty"`
	Lost       api.Seconds `json:"lost_seconds"`
	Seconds    api.Seconds `json:"seconds,omitempty"` // observed time; absent for nodes and registries
	StartUps   int         `json:"start_ups,omitempty"`
	Failures   int         `json:"failures,omitempty"` // unsuccessful start-ups of a workload, or failed pulls
	InProgress int         `json:"in_progress,omitempty"`
	Pulls      int         `json:"pulls,omitempty"`
	Bytes      int64       `json:"bytes,omitempty"`
	// Most names the largest part of the row's lost time. In the row of a node, this part is one kind of work. In the
	// row of a workload, this part is one cause. In the row of a cause, this part is one workload on one node. If the
	// report comes from Prometheus, the part of a cause is one node.
	Most     string      `json:"most,omitempty"`
	MostLost api.Seconds `json:"most_lost_seconds,omitempty"`
	Sentence string      `json:"sentence"` // one sentence for people; its wording can change
}

// Report compares the nodes, registries, images and workloads. Each section has at most the given number of rows.
func (f *Fleet) Report(rows int) Report {
	r := Report{Since: api.InstantOf(f.Beginning()), CompleteSince: f.completeSince(), Until: api.InstantOf(f.until),
		NodeCount: len(f.nodes), StartUps: f.all.startUps, Failures: f.all.failures, InProgress: f.all.inProgress,
		Seconds: fromSeconds(f.all.seconds), Notes: []string{}}
	losses := f.losses()
	causes := losses.causeRows(f)
	lost := 0.0 // float64, because a sum of type Seconds could overflow
	for _, row := range causes {
		lost += row.Lost.Duration().Seconds()
	}
	r.Lost = fromSeconds(lost)
	r.Causes = newSection(causes, rows, losses.causeNote(f))
	r.Nodes = f.nodeSection(rows)
	r.Registries = f.registrySection(rows)
	r.Images = newSection(f.imageRows(), rows, f.imageNote())
	r.Workloads = newSection(losses.workloadRows(f), rows, losses.workloadNote(f))
	if f.all.startUpCount() == 0 {
		r.Causes.Note, r.Workloads.Note = noStartUps, noStartUps
	}
	if f.pulls == (api.PullTotals{}) {
		r.Images.Note, r.Registries.Note = noPulls, noPulls
	}
	if f.late > 0 {
		r.Notes = append(r.Notes, plural(f.late, "node has", "nodes have")+" sums for only a part of this time, "+
			"because the agent did not run all the time, keeps no sums or has an older version")
	}
	r.Summary = summarySentence(r, f.coverage(), "The start-ups", len(losses.byWorkload) > 0)
	return r
}

const (
	noPulls    = "no pulls in this time"
	noStartUps = "no start-ups in this time"
)

func noteOf(single bool, ifSingle, otherwise string) string {
	if single {
		return ifSingle
	}
	return otherwise
}

// newSection sorts the rows by lost time and keeps the first rows. The argument "most" is the maximum
// number of rows. If there are no rows, the section contains the note.
func newSection(all []Row, most int, note string) Section {
	slices.SortFunc(all, func(x, y Row) int {
		return cmp.Or(cmp.Compare(y.Lost, x.Lost), cmp.Compare(y.Failures, x.Failures), cmp.Compare(x.Name, y.Name))
	})
	s := Section{Rows: append([]Row{}, all[:min(most, len(all))]...), More: max(len(all)-most, 0)}
	if len(s.Rows) == 0 {
		s.Note = note
	}
	return s
}

// maxSeconds is the longest time in a report, in seconds. A longer time does not fit into the type Seconds.
const maxSeconds = 9e9

func fromSeconds(s float64) api.Seconds {
	return api.Seconds(math.Round(min(s, maxSeconds) * float64(time.Second)))
}
