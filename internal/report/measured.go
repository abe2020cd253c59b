package report

import (
	"fmt"
	"math"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

// Measured contains sums over all nodes of a fleet. Prometheus computes the sums from the agents' metrics, mostly with
// the project's recording rules. The numbers of start-ups and pulls can be fractions, because Prometheus estimates
// them from scrapes.
type Measured struct {
	Since, Until time.Time
	Hours        int // number of hours between Since and Until
	RuleHours    int // hours between Since and Until for which Prometheus has results of the recording rules
	// WorkloadHours is the number of hours between Since and Until for which Prometheus has results of the rules about
	// workloads. If no agent exports metrics about workloads, WorkloadHours is 0.
	WorkloadHours int
	NodeCount     int // number of nodes with an agent
	// StartUps is the number of start-ups that ended with any result. Failures is the number of start-ups that ended
	// without success.
	StartUps, Failures float64
	InProgress         float64
	// OtherStartUps is the number of successful start-ups that agents did not assign to a workload, because these
	// agents had reached the limit of --metrics-workloads.
	OtherStartUps  float64
	WorkloadSeries int // number of series of workload metrics; 0 if the agents currently export no workload metrics
	// Compared is true if Prometheus could compare at least one node with the other nodes. ComparedWorkloads is true if
	// Prometheus could compare at least one workload with the other workloads.
	Compared, ComparedWorkloads bool
	// Causes contains the time of the start-ups by cause. To compute the lost time of a cause, Prometheus compares
	// each node with the other nodes. Then Prometheus adds up the lost time of all nodes.
	Causes, Nodes, Registries, Workloads MeasuredRows
	Warnings                             []string // warnings from Prometheus about missing data
}

// MeasuredRows contains rows of one type: causes, nodes, registries or workloads. The key of a row is its name.
type MeasuredRows map[string]*MeasuredRow

// MeasuredRow contains the sums of one cause, node, registry or workload. Times are in seconds.
type MeasuredRow struct {
	Seconds  float64 // observed time; always 0 for nodes and registries
	Lost     float64 // observed time minus expected time
	Expected float64 // time that other nodes or registries need for the same work; always 0 for causes and workloads
	StartUps float64 // successful start-ups of a node or workload
	Failures float64 // unsuccessful start-ups of a workload, or failed pulls
	Pulls    float64
	Bytes    float64
	// Most names the largest part of the lost time. In the row of a node, this part is one kind of work. In the row of
	// a workload, this part is one cause. In the row of a cause, this part is one node.
	Most     string
	MostLost float64
}

// Row returns the row with the given name. If the row is missing, Row adds it.
func (r *MeasuredRows) Row(name string) *MeasuredRow {
	if *r == nil {
		*r = MeasuredRows{}
	}
	return entry(*r, name)
}

// toRow converts the sums into a row of the report. The argument "base" is the observed time minus the lost
// time, in seconds. If base is zero, the row has no factor.
func (m *MeasuredRow) toRow(name string, base float64) Row {
	r := Row{Name: name, Lost: fromSeconds(max(m.Lost, 0)), StartUps: rounded(m.StartUps),
		Failures: rounded(m.Failures), Pulls: rounded(m.Pulls), Bytes: int64(rounded(m.Bytes))}
	if factor := max((base+m.Lost)/base, 0); base > 0 && factor <= math.MaxFloat64 {
		r.Factor = new(factor)
	}
	if m.MostLost > 0 {
		r.Most, r.MostLost = m.Most, min(r.Lost, fromSeconds(m.MostLost))
	}
	return r
}

// rounded rounds an estimate to an integer between 0 and maxNumber. A broken server can return numbers outside this
// range.
func rounded(estimate float64) int { return int(math.Round(min(max(estimate, 0), maxNumber))) }

// maxNumber is the largest number of bytes, start-ups or pulls in a report.
const maxNumber = 1 << 53

// FromMetrics converts the sums from Prometheus into a report. Each section has at most the given number of rows.
func FromMetrics(m Measured, rows int) Report {
	r := Report{Since: api.InstantOf(m.Since), Until: api.InstantOf(m.Until), NodeCount: m.NodeCount,
		StartUps: rounded(m.StartUps), Failures: rounded(m.Failures), InProgress: rounded(m.InProgress),
		Notes: m.notes()}
	causes := m.causeRows()
	var seconds, lost float64 // float64, because sums of type Seconds could overflow
	for _, sums := range m.Causes {
		seconds += sums.Seconds
	}
	for _, row := range causes {
		lost += row.Lost.Duration().Seconds()
	}
	r.Seconds, r.Lost = fromSeconds(max(seconds, 0)), fromSeconds(lost)
	r.Causes = newSection(causes, rows, m.causeNote())
	r.Nodes = m.nodeSection(rows)
	r.Registries = m.registrySection(rows)
	r.Images = newSection(nil, rows, "the metrics do not name images: for images, run the command without --prometheus")
	r.Workloads = m.workloadSection(rows)
	r.Summary = summarySentence(r, "", "The successful start-ups", m.Compared)
	return r
}

func (m *Measured) notes() []string {
	notes := []string{"Prometheus estimates numbers from scrapes, so the numbers can differ from the agents' numbers"}
	if m.RuleHours < m.Hours {
		notes = append(notes, fmt.Sprintf("Prometheus has results of the recording rules for only %d of %s",
			m.RuleHours, plural(m.Hours, "hour", "hours")))
	}
	if m.WorkloadHours > 0 && m.WorkloadHours < min(m.RuleHours, m.Hours) {
		notes = append(notes, fmt.Sprintf("Prometheus has results about workloads for only %d of %s", m.WorkloadHours,
			plural(m.Hours, "hour", "hours")))
	}
	for _, warning := range m.Warnings[:min(len(m.Warnings), maxWarnings)] {
		notes = append(notes, "Prometheus warns: "+warning)
	}
	return notes
}

// maxWarnings is the maximum number of warnings from Prometheus in the notes.
const maxWarnings = 3

func (m *Measured) causeRows() []Row {
	var rows []Row
	for name, sums := range m.Causes {
		row := sums.toRow(name, 0)
		row.Seconds = fromSeconds(max(sums.Seconds, 0))
		if row.Lost.Duration() < leastLost {
			continue
		}
		row.Sentence = causeSentence(row, "on")
		rows = append(rows, row)
	}
	return rows
}

// causeNote explains why the report has no rows about causes.
func (m *Measured) causeNote() string {
	switch {
	case rounded(m.StartUps) == 0:
		return noStartUps
	case m.NodeCount < 2:
		return "a single node has no other nodes to compare with"
	case !m.Compared:
		return "too few start-ups on the other nodes to compare with"
	}
	return "no node takes more time per start-up than the other nodes"
}

func (m *Measured) nodeSection(most int) Section {
	var rows []Row
	unknown := m.NodeCount
	for name, sums := range m.Nodes {
		if sums.Expected <= 0 {
			continue
		}
		unknown--
		row := sums.toRow(name, sums.Expected)
		if row.Factor == nil || row.Lost.Duration() < leastLost {
			continue
		}
		row.Sentence = nodeSentence(row)
		rows = append(rows, row)
	}
	const why = "the node or the other nodes had too few start-ups, or the container runtime cannot report when the " +
		"network of a pod was ready or when a sandbox was running"
	without := withoutFactor{max(unknown, 0), map[string][]string{why: nil}} // nil, because the names are unknown
	return without.note(newSection(rows, most, "no node is slower than the other nodes"), m.NodeCount-unknown,
		"node has no factor", "nodes have no factor")
}

const noSizedPulls = "no pulls with known bytes in this time"

func (m *Measured) registrySection(most int) Section {
	var rows []Row
	used := 0
	var without withoutFactor
	for name, sums := range m.Registries {
		row := sums.toRow(name, sums.Expected)
		if row.Pulls == 0 && row.Failures == 0 && row.Factor == nil {
			continue // the counters exist, but no pull in the period increased the counters
		}
		used++
		if row.Factor == nil {
			row.Lost = 0 // without an expected time, the lost time is unknown
			without.add(name, noteOf(row.Pulls == 0, noSizedPulls,
				"too few other pulls with known bytes to compare with"))
		}
		if row.Lost.Duration() < leastLost && row.Failures == 0 {
			continue
		}
		row.Sentence = registrySentence(row)
		rows = append(rows, row)
	}
	note := noteOf(used == 0, noSizedPulls, "no registry is slower per byte than the other registries")
	return without.note(newSection(rows, most, note), used-without.count, "registry has no factor",
		"registries have no factor")
}

func (m *Measured) workloadSection(most int) Section {
	s := newSection(m.workloadRows(), most, m.workloadNote())
	if others := rounded(m.OtherStartUps); others > 0 {
		if s.Note != "" {
			s.Note += "; "
		}
		s.Note += plural(others, "start-up is", "start-ups are") + " not assigned to a workload, because an agent " +
			"reached the limit of --metrics-workloads"
	}
	return s
}

func (m *Measured) workloadRows() []Row {
	var rows []Row
	for name, sums := range m.Workloads {
		row := sums.toRow(name, sums.Seconds-sums.Lost)
		row.Seconds = fromSeconds(max(sums.Seconds, 0))
		if row.Lost.Duration() < leastLost {
			continue
		}
		row.Sentence = workloadSentence(row)
		rows = append(rows, row)
	}
	return rows
}

// workloadNote explains why the report has no rows about workloads.
func (m *Measured) workloadNote() string {
	switch {
	case m.ComparedWorkloads:
		return "no workload takes more time per start-up than the other workloads"
	case len(m.Workloads) > 1:
		return tooFew
	case len(m.Workloads) == 1:
		return "a single workload has no other workloads to compare with"
	case m.WorkloadSeries > 0:
		return "Prometheus lacks the recording rules about workloads: update the rules of podlapse"
	case rounded(m.StartUps) == 0:
		return noStartUps // a workload has no series before its first start-up
	}
	return "the agents exported no metrics about workloads in this time: set --metrics-workloads=20 on the agents"
}
