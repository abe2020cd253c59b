package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

// explainConfig selects start-ups and the format of their output.
type explainConfig struct {
	listConfig
	since     time.Duration // 0 without --since
	revisions []string      // at most two revisions; each one is a number or the value of a label
}

func (c *explainConfig) table() flags.Table {
	own := flags.Table{
		{
			Name: "since", Value: "DURATION",
			Help: "show start-ups that are in progress or that ended in the past DURATION. DURATION: at most 7d, in " +
				"the units s, m, h, d. Without this flag, the command shows all known start-ups",
			Set: flags.Duration(&c.since, maxSince, "at most 7d, for example 1h or 2d"),
		},
		{
			Name: "revision", Value: "REVISION[,REVISION]", Set: c.setRevisions,
			Help: "show one revision of the workload, or compare two revisions. A revision is a number from " +
				"\"kubectl rollout history\", or a hash from the pod label \"pod-template-hash\" or " +
				"\"controller-revision-hash\". By default, the command compares the latest two revisions",
		},
	}
	return slices.Concat(own, c.podTable(), c.listOutput.table(orderNames(startUpOrders())), c.target.table())
}

func runExplain(ctx context.Context, call Call) int {
	var c explainConfig
	agentQuery, rest, code, ok := begin(call, c.table(), &c.target, c.check, maxResources)
	if !ok {
		return code
	}
	defer agentQuery.close()
	wanted, err := agentQuery.resources(rest)
	if err == nil {
		err = c.checkResources(wanted)
	}
	if err == nil && slices.ContainsFunc(wanted, func(r resource) bool { return r.kind == kindNode }) {
		err = agentQuery.checkNodeName()
	}
	if err != nil {
		return call.FailUsage(err)
	}
	if len(wanted) == 0 || c.watch {
		return agentQuery.listStartUps(ctx, c, wanted)
	}
	ctx, stop := context.WithTimeout(ctx, c.limit)
	defer stop()
	return agentQuery.explain(ctx, c, wanted)
}

// maxResources is the maximum number of resources in the arguments.
const maxResources = 100

// listStartUps lists the start-ups of the resources, or all start-ups if the argument "wanted" is empty.
func (a agentQuery) listStartUps(ctx context.Context, c explainConfig, wanted []resource) int {
	empty := "no known pods yet"
	if c.namespace != "" {
		empty = terminal.Clean("no known pods in namespace " + c.namespace)
	}
	if c.selector != "" {
		empty += terminal.Clean(" with labels " + c.selector)
	}
	return show(ctx, a, startUps(a.manyNodes(), empty, a.Now), c.listOutput, c.limit,
		func(ctx context.Context) ([]api.Record, []error, error) {
			since := c.sinceAt(a.Now())
			if len(wanted) == 0 {
				filter := c.filter()
				filter.Since = since
				return a.records(ctx, filter)
			}
			records, failed, none := a.recordsOf(ctx, wanted, since)
			if len(records) == 0 {
				return nil, nil, errors.Join(none...)
			}
			return records, append(failed, none...), nil
		})
}

// explain prints the start-ups of the resources. If a resource has no start-up, explain then prints the resource's
// error.
func (a agentQuery) explain(ctx context.Context, c explainConfig, wanted []resource) int {
	records, failed, none := a.recordsOf(ctx, wanted, c.sinceAt(a.Now()))
	if len(wanted) == 1 && wanted[0].isWorkload() && len(records) > 0 {
		return a.explainWorkload(ctx, c, wanted[0], records, failed)
	}
	code := ExitOK
	if len(records) > 0 {
		if code = a.printStartUps(ctx, c, wanted, records, failed); code == ExitFailed {
			return code
		}
	}
	for _, err := range none {
		code = a.fail(err)
	}
	return code
}

// printStartUps prints start-ups in the output format of the flag -o. With -o table, the output has one of two forms.
// If all resources are pods, or if there is only one start-up, printStartUps prints the waterfall of each start-up. If
// there are several start-ups and a resource is not a pod, printStartUps prints a list and then the waterfall of the
// slowest start-up.
func (a agentQuery) printStartUps(
	ctx context.Context, c explainConfig, wanted []resource, records []api.Record, failed []error,
) int {
	pods := !slices.ContainsFunc(wanted, func(r resource) bool { return r.kind != kindPod })
	v := startUps(a.manyNodes(), "", a.Now)
	page := c.page(a.Stdout, a.Getenv)
	switch {
	case c.format == outputJSON || c.format == outputYAML:
		if pods {
			for i := range records {
				records[i].WhatIf, records[i].WhatIfUnknown = whatif.Predict(records[i])
			}
		}
		if pods && len(wanted) == 1 {
			v.whole = func(records []api.Record) any { return records[0] }
		}
	case c.format == outputTable && (pods || len(records) == 1):
		var texts []string
		for _, record := range v.sorted(records, c.sortBy) {
			texts = append(texts, a.waterfall(ctx, record, page))
		}
		return a.print(strings.Join(texts, "\n"), failed)
	}
	text, err := v.text(v.sorted(records, c.sortBy), c.listOutput, page)
	if err != nil {
		return a.fail(err)
	}
	if c.format == outputTable {
		text += "\n" + a.waterfall(ctx, slices.MinFunc(records, longestFirst), page)
	}
	return a.print(text, failed)
}

// waterfall returns the waterfall of a start-up and at most two more sections. One optional section describes how long
// the pod waited while its node was starting. Another optional section lists changes that would make the start-up
// faster.
func (a agentQuery) waterfall(ctx context.Context, record api.Record, page terminal.Page) string {
	predictions, unknown := whatif.Predict(record)
	return render.Waterfall(record, page, a.livePulls(ctx, record)...) + a.waitedDuringStartUp(ctx, record, page) +
		render.WhatIf(predictions, unknown, page)
}

// livePulls returns the pulls in progress on the node of the record's pod. The result contains only pulls for pods in
// the namespace of this pod. If this pod does not wait for a pull, the result is empty. If the agent does not respond,
// the result is also empty, and the waterfall shows only that a pull is in progress.
func (a agentQuery) livePulls(ctx context.Context, record api.Record) []api.LivePullRecord {
	inProgress := func(p api.PullRecord) bool { return p.Outcome == imagepull.OutcomePulling }
	if !slices.ContainsFunc(record.Pulls, inProgress) {
		return nil
	}
	list, _ := askNode(ctx, a, record.Node, func(ctx context.Context, c client.Client) (api.PullList, error) {
		return c.Pulls(ctx, record.Namespace)
	})
	return list.Items
}

// recordsOf returns the start-ups of the resources. The result "failed" contains the errors of agents that did not
// respond, and the result "none" contains the errors of resources without a start-up. If the query for a resource fails
// with an error other than "not found", recordsOf does not query the remaining resources. For workloads and nodes,
// recordsOf omits start-ups that ended before the time in the argument "since".
func (a agentQuery) recordsOf(
	ctx context.Context, wanted []resource, since time.Time,
) (records []api.Record, failed, none []error) {
	for _, r := range wanted {
		found, bad, err := a.recordsOfOne(ctx, r, since)
		records = append(records, found...)
		failed = append(failed, bad...)
		if err != nil {
			none = append(none, err)
			if exitOf(err) != ExitNotFound {
				break
			}
		}
	}
	return records, uniqueErrors(failed), none
}

// recordsOfOne returns the start-ups of one resource. If the error is nil, recordsOfOne returns at least one start-up.
func (a agentQuery) recordsOfOne(ctx context.Context, r resource, since time.Time) ([]api.Record, []error, error) {
	switch r.kind {
	case kindPod:
		record, bad, err := a.record(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		return []api.Record{record}, bad, nil
	case kindNode:
		found, err := a.onNode(ctx, r, since)
		return found, nil, err
	}
	return a.ofWorkload(ctx, r, since)
}

// uniqueErrors removes repeated errors. An agent that does not respond causes one error for each resource.
func uniqueErrors(failed []error) []error {
	known := map[string]bool{}
	return slices.DeleteFunc(failed, func(err error) bool {
		before := known[err.Error()]
		known[err.Error()] = true
		return before
	})
}

// onNode returns the start-ups on one node that match the flags.
func (a agentQuery) onNode(ctx context.Context, r resource, since time.Time) ([]api.Record, error) {
	if a.target.node != "" && a.target.node != r.name {
		return nil, fmt.Errorf("%s and --node %s name different nodes: remove %s or --node", r,
			terminal.ShortName(a.target.node), r)
	}
	found, err := a.agents(ctx, r.name)
	if err != nil {
		return nil, err
	}
	filter := a.target.filter()
	filter.Since = since
	ask := func(ctx context.Context, c client.Client) ([]api.Record, error) { return allRecords(ctx, c, filter) }
	response := agents.Each(ctx, found[:1], agentLimit, ask)[0]
	if response.Err == nil && len(response.Value) == 0 {
		return nil, fmt.Errorf("%w: no pod on %s matches the flags", errUnknownPod, r)
	}
	return response.Value, ofNode(response.Agent, response.Err)
}

// ofWorkload returns the start-ups of the pods that a workload owns.
func (a agentQuery) ofWorkload(ctx context.Context, r resource, since time.Time) ([]api.Record, []error, error) {
	filters := r.workloadFilters()
	for i := range filters {
		filters[i].Since = since
	}
	records, failed, err := a.records(ctx, filters...)
	if err != nil {
		return nil, nil, err
	}
	records = slices.DeleteFunc(records, func(record api.Record) bool { return !r.ownedBy(record) })
	switch {
	case len(records) > 0:
		return records, failed, nil
	case len(failed) > 0:
		text, first := a.missing(failed)
		return nil, nil, fmt.Errorf("%s, and the other agents know no pods of %s; the first error is: %w", text,
			r, first)
	}
	return nil, nil, unknownWorkload(r, since)
}

// record returns the latest start-up of a pod from the agent of the pod's node. If the API server does not know the
// pod, or does not allow the user to get the pod, the method queries all agents. If the method queries all agents, it
// also returns the errors of agents that did not respond.
func (a agentQuery) record(ctx context.Context, pod resource) (api.Record, []error, error) {
	node, bound := a.target.node, "" // bound is the node that the API server returns for the pod
	if a.cluster != nil && node == "" {
		var err error
		bound, err = a.cluster.NodeOf(ctx, pod.namespace, pod.name)
		switch {
		case errors.Is(err, agents.ErrNotBound):
			return api.Record{}, nil, fmt.Errorf("%w: to see why, run kubectl describe pod %s -n %s", err,
				terminal.ShortName(pod.name), terminal.ShortName(pod.namespace))
		case err != nil && !mayBeGone(err):
			return api.Record{}, nil, err
		}
		node = bound
	}
	found, err := a.agents(ctx, node)
	if err != nil {
		return api.Record{}, nil, err
	}
	responses := agents.Each(ctx, found, agentLimit, func(ctx context.Context, c client.Client) (api.Record, error) {
		return c.Pod(ctx, pod.namespace, pod.name)
	})
	first := responses[0]
	switch err := ofNode(first.Agent, first.Err); {
	case unknownToAgent(err) && (node != "" || a.cluster == nil):
		return api.Record{}, nil, a.unknownOnNode(err, pod, bound)
	case len(responses) == 1 && !unknownToAgent(err):
		return first.Value, nil, err
	}
	var latest api.Record
	var failed []error
	known := false
	for _, response := range responses {
		switch {
		case response.Err == nil && (!known || response.Value.CreatedAt.After(latest.CreatedAt.Time)):
			latest, known = response.Value, true
		case response.Err != nil && !unknownToAgent(response.Err):
			failed = append(failed, ofNode(response.Agent, response.Err))
		}
	}
	switch {
	case known:
		return latest, failed, nil
	case len(failed) > 0:
		text, first := a.missing(failed)
		return api.Record{}, nil, fmt.Errorf("%s, and the other agents do not know %s; the first error is: %w", text,
			pod, first)
	}
	return api.Record{}, nil, unknownPod(pod, len(responses))
}

// mayBeGone reports whether the API server responded "not found" or "forbidden" to the request for a pod. An agent
// might still know a pod that the API server does not return: the pod might be deleted, or the user might have no
// permission to get the pod from the API server.
func mayBeGone(err error) bool {
	var refused *client.Refusal
	return errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusForbidden)
}

// unknownToAgent reports whether err is the response of an agent that does not know the requested pod or path.
func unknownToAgent(err error) bool {
	var refused *client.Refusal
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound && !refused.Kubernetes &&
		refused.Reason != ""
}
