package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/resourcetype"
	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/internal/workload"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// These limits bound the memory and the CPU time of one summary. A record with about 40 phases, milestones and pulls
// needs 14 KB of memory. With these limits, the records of four concurrent requests need at most about 22 MB.
const (
	maxSummarized = 200   // start-ups
	maxEntries    = 16000 // phases, milestones and pulls of all these start-ups together
)

// serveWorkload serves the summary of a workload's start-ups on this node. The response also compares two revisions,
// and contains the changes that would make the start-ups faster. If the request names one revision, the response covers
// only the start-ups of this revision. The agent computes the summary for each request and keeps no summaries between
// requests.
func (a readAPI) serveWorkload(w http.ResponseWriter, r *http.Request, _ filter.Filter) error {
	revisions, err := revisionsOf(r)
	if err != nil {
		return err
	}
	namespace := r.PathValue("namespace")
	owner := timeline.Owner{Kind: resourcetype.OwnerKind(r.PathValue("kind")), Name: r.PathValue("owner")}
	records, earlier, err := a.ownedBy(r, namespace, owner, revisions)
	if err != nil {
		return err
	}
	owner = timeline.Owner(records[0].Owner) // with the kind spelled as in the record
	summary := workload.Summarize(records, workload.Options{Compare: revisions,
		NoRevisions: !workload.HasVersions(owner.Kind) && len(revisions) == 0})
	var known []string
	for _, r := range summary.Revisions {
		known = append(known, r.Name)
	}
	for _, name := range revisions {
		if !slices.Contains(known, name) {
			among := ""
			if earlier > 0 {
				among = fmt.Sprintf(" among the latest %d start-ups of the workload", len(records))
			}
			return unknownRevision(name, workloadText(namespace, owner), among, known)
		}
	}
	verdict := render.WorkloadVerdict(summary)
	if earlier > 0 {
		verdict += fmt.Sprintf("; without %d earlier start-ups", earlier)
	}
	means, unknown := whatif.Means(records)
	return respond(w, r, api.WorkloadRecord{Node: a.API.Node, Namespace: namespace, Owner: api.OwnerRecord(owner),
		Earlier: earlier, Verdict: verdict, Summary: summary, Differences: render.Differences(summary),
		WhatIf: means, WhatIfUnknown: unknown})
}

// revisionsOf returns the revisions in the request: one revision to summarize, or two revisions to compare. Without the
// parameter "revision", the result is nil.
func revisionsOf(r *http.Request) ([]string, error) {
	text := r.URL.Query().Get("revision")
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, ",")
	if len(names) > 2 || slices.Contains(names, "") || len(names) == 2 && names[0] == names[1] {
		return nil, badRequest("revision: invalid value %.80q: must be one revision, or two different revisions, "+
			"separated by a comma", text)
	}
	return names, nil
}

// workloadText names a workload in an error.
func workloadText(namespace string, owner timeline.Owner) string {
	return fmt.Sprintf("%.63s %.63s/%.253s", owner.Kind, namespace, owner.Name)
}

// unknownRevision returns the error for a revision without known start-ups. The argument "among" is a part of
// the error text. The argument "among" says which start-ups the agent searched. If the agent searched all start-ups,
// "among" is empty. The error names the latest known revisions.
func unknownRevision(name, workload, among string, known []string) error {
	reason := fmt.Sprintf("no start-up of %s with the revision %.63q is known on this node%s", workload, name, among)
	var names []string
	for _, name := range known[:min(len(known), maxHints)] {
		names = append(names, fmt.Sprintf("%.63s", name))
	}
	if len(names) > 0 {
		reason += "; known revisions: " + strings.Join(names, ", ")
	}
	return refuse(http.StatusNotFound, "not_found", reason)
}

// maxHints is the maximum number of workloads or revisions that an error names.
const maxHints = 5

// hints returns the last part of the error text about an unknown workload. The result names workloads of the same
// namespace. Workloads with the same name or a similar name come first.
func hints(name string, others []timeline.Owner) string {
	name = strings.ToLower(name)
	distance := func(o timeline.Owner) int {
		switch other := strings.ToLower(o.Name); {
		case other == name:
			return 0
		case strings.HasPrefix(other, name), strings.HasPrefix(name, other):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(others, func(a, b timeline.Owner) int { return cmp.Compare(distance(a), distance(b)) })
	var names []string
	for _, o := range others[:min(len(others), maxHints)] {
		names = append(names, fmt.Sprintf("%.63s/%.253s", o.Kind, o.Name))
	}
	if len(names) == 0 {
		return ""
	}
	return "; known workloads of the namespace: " + strings.Join(names, ", ")
}

// kindHint returns the last part of the error text about an unknown workload. If podlapse knows the workload's kind,
// the result is empty. An unknown kind can still be valid, because custom resources can own pods.
func kindHint(kind string) string {
	var kinds []string
	for _, t := range resourcetype.All() {
		if t.Kind == kind {
			return ""
		}
		if t.Kind != "Pod" && t.Kind != "Node" {
			kinds = append(kinds, t.Kind)
		}
	}
	return fmt.Sprintf("; the kind %.63q must be %s, or the kind of a custom resource that owns pods", kind,
		strings.Join(kinds, ", "))
}

// ownedBy returns the records of the latest start-ups of a workload's pods. The result "earlier" is the number of older
// start-ups that the result "records" omits. ownedBy ignores the case of the owner's kind. If the argument "revisions"
// has one element, ownedBy ignores the start-ups of other revisions. If ownedBy finds no start-up, it returns an error
// that names other workloads of the namespace, or other revisions.
func (a readAPI) ownedBy(r *http.Request, namespace string, owner timeline.Owner, revisions []string) (
	records []api.Record, earlier int, err error) {
	all, err := a.startUps(r, func(k filter.Key, _ string) bool { return k.Namespace == namespace })
	if err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(all, func(a, b startUp) int { return b.createdAt.Compare(a.createdAt) })
	var others []timeline.Owner
	matches := func(o timeline.Owner) bool {
		if filter.SameOwner(owner, o) {
			return true
		}
		if o.Name != "" && !slices.Contains(others, o) {
			others = append(others, o)
		}
		return false
	}
	entries, found := 0, false
	var otherRevisions []string
	for _, s := range all {
		if s.there != nil && !matches(s.there.Owner) {
			continue
		}
		record, err := s.record()
		switch {
		case err != nil:
			return nil, 0, err
		case !matches(timeline.Owner(record.Owner)):
		case len(revisions) == 1 && record.Revision != revisions[0]:
			owner, found = timeline.Owner(record.Owner), true // with the kind spelled as in the record
			if record.Revision != "" && !slices.Contains(otherRevisions, record.Revision) {
				otherRevisions = append(otherRevisions, record.Revision)
			}
		case len(records) == 0 || len(records) < maxSummarized && entries < maxEntries:
			records = append(records, record)
			entries += len(record.Phases) + len(record.Milestones) + len(record.Pulls)
		default:
			earlier++
		}
	}
	switch {
	case len(records) > 0:
		return records, earlier, nil
	case found:
		return nil, 0, unknownRevision(revisions[0], workloadText(namespace, owner), "", otherRevisions)
	}
	reason := fmt.Sprintf("no start-up of %s is known on this node", workloadText(namespace, owner))
	return nil, 0, refuse(http.StatusNotFound, "not_found",
		reason+hints(owner.Name, others)+kindHint(owner.Kind))
}
