package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/internal/workload"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// The command requests the numbers of at most maxNumbered revisions. By default, Kubernetes keeps 10 old revisions.
	maxNumbered = 10
	// numbersLimit is the maximum total time of the requests for revision numbers. After this time, the command prints
	// the names of the revisions instead of their numbers.
	numbersLimit = time.Second
)

// workloadList is the JSON of a workload. The JSON contains the list of records, the summary, and the changes that
// would make the start-ups faster.
type workloadList struct {
	Items   []api.Record        `json:"items"`
	Summary api.WorkloadSummary `json:"summary"`
	WhatIf  []api.WhatIfMean    `json:"what_if"`
}

// isWorkload reports whether the resource is neither a pod nor a node.
func (r resource) isWorkload() bool { return r.kind != kindPod && r.kind != kindNode }

// explainWorkload prints the start-ups of one workload. The text output contains the summary and the waterfall of the
// slowest start-up. With flags for lists, such as -o wide and --sort-by, the command prints only the list of start-ups.
// The output in JSON or YAML is a workloadList.
func (a agentQuery) explainWorkload(
	ctx context.Context, c explainConfig, r resource, records []api.Record, failed []error,
) int {
	structured := c.format == outputJSON || c.format == outputYAML
	list := !structured && (c.format != outputTable || c.sortBy != "" || c.noHeaders)
	options := workload.Options{NoRevisions: !workload.HasVersions(r.kind) && len(c.revisions) == 0}
	if len(c.revisions) > 0 || !list {
		options.Numbers = a.revisionNumbers(ctx, r, records)
	}
	if len(c.revisions) > 0 {
		var err error
		if options.Compare, err = chooseRevisions(c.revisions, r, records, options.Numbers); err != nil {
			return a.fail(err)
		}
		records = slices.DeleteFunc(records, func(record api.Record) bool {
			return !slices.Contains(options.Compare, record.Revision)
		})
	}
	if list || !structured && len(records) == 1 {
		return a.printStartUps(ctx, c, []resource{r}, records, failed)
	}
	summary, means := workload.Summarize(records, options), whatif.Means(records)
	if structured {
		v := startUps(a.manyNodes(), "", a.Now)
		v.whole = func(items []api.Record) any { return workloadList{items, summary, means} }
		text, err := v.text(v.sorted(records, c.sortBy), c.listOutput, c.page(a.Stdout, a.Getenv))
		if err != nil {
			return a.fail(err)
		}
		return a.print(text, failed)
	}
	name := r.String()
	if len(options.Compare) == 1 {
		name += ", revision " + c.revisions[0]
	}
	page := c.page(a.Stdout, a.Getenv)
	slowest := slowestOf(records)
	return a.print(render.Workload(name, summary, page)+render.WhatIfMeans(means, page)+"\n"+
		render.Waterfall(slowest, page, a.livePulls(ctx, slowest)...), failed)
}

// slowestOf returns the slowest start-up. The result can be a start-up in progress, because the age of such a start-up
// is a lower bound of its duration. If there are other pods, slowestOf ignores failed and deleted pods, because these
// pods did not complete a start-up.
func slowestOf(records []api.Record) api.Record {
	ended := func(r api.Record) bool { return r.State == timeline.StateFailed || r.State == timeline.StateDeleted }
	if started := slices.DeleteFunc(slices.Clone(records), ended); len(started) > 0 {
		records = started
	}
	return slices.MinFunc(records, longestFirst)
}

// latestRevisions returns the names of the revisions in the records. The revision with the youngest pod is first.
func latestRevisions(records []api.Record) []string {
	latest := map[string]api.Instant{}
	var names []string
	for _, record := range records {
		at, known := latest[record.Revision]
		if record.Revision == "" || known && !record.CreatedAt.After(at.Time) {
			continue
		}
		if latest[record.Revision] = record.CreatedAt; !known {
			names = append(names, record.Revision)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(latest[b].Compare(latest[a].Time), cmp.Compare(a, b))
	})
	return names
}

// revisionNumbers requests the numbers of a workload's latest revisions. The method requests no numbers in three cases:
// the command connects directly to an agent, the records contain fewer than two revisions, or revisions of this kind of
// workload have no numbers. The result omits revisions that Kubernetes has deleted. If a request fails for another
// reason, the result is empty. If the result contained only some of the numbers, the command would sort the revisions
// in a wrong order.
func (a agentQuery) revisionNumbers(ctx context.Context, r resource, records []api.Record) map[string]int64 {
	names := latestRevisions(records)
	if a.cluster == nil || !workload.HasVersions(r.kind) || len(names) < 2 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, numbersLimit)
	defer stop()
	numbers := map[string]int64{}
	for _, name := range names[:min(len(names), maxNumbered)] {
		number, err := a.cluster.RevisionNumber(ctx, r.namespace, r.kind, r.name, name)
		var refused *client.Refusal
		switch {
		case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
			continue // Kubernetes has deleted this old revision
		case err != nil:
			return nil
		case number > 0:
			numbers[name] = number
		}
	}
	return numbers
}

// chooseRevisions returns the names of the revisions in --revision. The user can give the name or the number of a
// revision.
func chooseRevisions(wanted []string, r resource, records []api.Record, numbers map[string]int64) ([]string, error) {
	known := latestRevisions(records)
	var chosen []string
	for _, word := range wanted {
		i := slices.Index(known, word)
		if i < 0 {
			i = slices.IndexFunc(known, func(name string) bool {
				return numbers[name] > 0 && strconv.FormatInt(numbers[name], 10) == word
			})
		}
		if i < 0 {
			return nil, unknownRevision(word, r, known, numbers)
		}
		chosen = append(chosen, known[i])
	}
	if len(chosen) == 2 && chosen[0] == chosen[1] {
		return nil, fmt.Errorf("--revision names revision %s twice: give two different revisions", chosen[0])
	}
	return chosen, nil
}

func unknownRevision(word string, r resource, known []string, numbers map[string]int64) error {
	var texts []string
	for _, name := range known[:min(len(known), maxNumbered)] {
		texts = append(texts, render.RevisionText(api.WorkloadRevision{Name: name, Number: numbers[name]}))
	}
	if len(texts) == 0 {
		return fmt.Errorf("%w: the start-ups of %s have no revision: remove --revision", errUnknownPod, r)
	}
	return fmt.Errorf("%w: no known start-up of %s has the revision %s: use one of these revisions: %s",
		errUnknownPod, r, word, strings.Join(texts, ", "))
}

// setRevisions stores the value of --revision.
func (c *explainConfig) setRevisions(value string) error {
	if value == "" {
		return nil
	}
	c.revisions = strings.Split(value, ",")
	if len(c.revisions) > 2 || slices.Contains(c.revisions, "") {
		return fmt.Errorf("invalid revisions %q: must be one revision, or two revisions separated by a comma, for "+
			"example 41,42", value)
	}
	if len(c.revisions) == 2 && c.revisions[0] == c.revisions[1] {
		return fmt.Errorf("invalid revisions %q: must be two different revisions, for example 41,42", value)
	}
	return nil
}

// checkResources reports flags that the user cannot combine with the named resources.
func (c *explainConfig) checkResources(wanted []resource) error {
	pod := slices.IndexFunc(wanted, func(r resource) bool { return r.kind == kindPod })
	switch {
	case len(c.revisions) > 0 && (len(wanted) != 1 || !wanted[0].isWorkload()):
		return errors.New("--revision requires one workload, for example deploy/web: name exactly one workload, or " +
			"remove --revision")
	case len(c.revisions) > 0 && c.watch:
		return errors.New("--revision and --watch cannot be combined: remove one of them")
	case c.since > 0 && pod >= 0:
		return fmt.Errorf("--since cannot be combined with the name of a pod: remove --since or %s", wanted[pod])
	}
	return nil
}

// sinceAt returns the beginning of the period in --since. The zero time means no limit.
func (c *explainConfig) sinceAt(now time.Time) time.Time {
	if c.since == 0 {
		return time.Time{}
	}
	return now.Add(-c.since)
}
