package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/internal/workload"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// The method "workload" serves the summary of a workload's start-ups on this node, the comparison of two revisions, and
// the changes that would help. The agent computes the response for each request, and keeps nothing between requests.
func (a readAPI) workload(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.parseQuery(w, r, nil, "revision"); !ok {
		return
	}
	revisions, ok := revisionsOf(w, r)
	if !ok {
		return
	}
	namespace, owner := r.PathValue("namespace"), timeline.Owner{Kind: r.PathValue("kind"), Name: r.PathValue("owner")}
	records, ok := a.ownedBy(w, r, namespace, owner)
	if !ok {
		return
	}
	summary := workload.Summarize(records, workload.Options{Compare: revisions,
		NoRevisions: !workload.HasVersions(owner.Kind) && len(revisions) == 0})
	for _, name := range revisions {
		known := func(r api.WorkloadRevision) bool { return r.Name == name }
		if !slices.ContainsFunc(summary.Revisions, known) {
			writeError(w, http.StatusNotFound, "not_found", fmt.Sprintf(
				"no start-up of %.63s %.63s/%.253s with the revision %.63q is known on this node", owner.Kind,
				namespace, owner.Name, name))
			return
		}
	}
	a.answer(w, r, api.WorkloadRecord{Node: a.API.Node, Namespace: namespace, Owner: api.OwnerRecord(owner),
		Summary: summary, Differences: render.Differences(summary), WhatIf: whatif.Means(records)})
}

// revisionsOf returns the two revisions to compare. Without the parameter, the result is nil.
func revisionsOf(w http.ResponseWriter, r *http.Request) ([]string, bool) {
	text := r.URL.Query().Get("revision")
	if text == "" {
		return nil, true
	}
	names := strings.Split(text, ",")
	if len(names) != 2 || names[0] == names[1] || slices.Contains(names, "") {
		badRequest(w, fmt.Sprintf("revision: invalid value %.80q: must be two different revisions, separated by a "+
			"comma", text))
		return nil, false
	}
	return names, true
}

// ownedBy returns the start-ups of a workload's pods. If the agent knows no start-up of the workload, or cannot read the
// start-ups, ownedBy writes an error response and returns false.
func (a readAPI) ownedBy(w http.ResponseWriter, r *http.Request, namespace string, owner timeline.Owner) (
	[]api.Record, bool) {
	all, ok := a.startUps(w, r, func(k filter.Key, _ string) bool { return k.Namespace == namespace })
	if !ok {
		return nil, false
	}
	var records []api.Record
	for _, s := range all {
		owned, err := s.match(filter.Filter{Owner: owner})
		if err == nil && owned {
			var record api.Record
			record, err = s.record()
			records = append(records, record)
		}
		if err != nil {
			a.internalError(w, err)
			return nil, false
		}
	}
	if len(records) == 0 {
		writeError(w, http.StatusNotFound, "not_found", fmt.Sprintf(
			"no start-up of %.63s %.63s/%.253s is known on this node", owner.Kind, namespace, owner.Name))
		return nil, false
	}
	return records, true
}
