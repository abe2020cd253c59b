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
	// The command shows the numbers of at most maxNumbered revisions. By default, Kubernetes keeps 10 old revisions.
	maxNumbered = 10
	// numbersLimit is the maximum total time of the requests for the revision numbers in the output. After this time,
	// the command prints the names of the revisions instead.
	numbersLimit = time.Second
)

// errNoNumbers means that --revision contains a number, but the command could not get the revision numbers. The
// function noNumbers adds a remedy to the text of this error.
var errNoNumbers = errors.New("cannot get the revision numbers")

// workloadList is the JSON output for a workload. The JSON contains the list of records, the summary, and the changes
// that would make the start-ups faster.
type workloadList struct {
	Items   []api.Record        `json:"items"`
	Summary api.WorkloadSummary `json:"summary"`
	WhatIf  []api.WhatIfMean    `json:"what_if"`
	Unknown []api.WhatIfUnknown `json:"what_if_unknown,omitempty"`
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
	if len(c.revisions) > 0 {
		var err error
		if options.Compare, options.Numbers, err = a.chooseRevisions(ctx, c, r, records); err != nil {
			return a.fail(err)
		}
		records = slices.DeleteFunc(records, func(record api.Record) bool {
			return !slices.Contains(options.Compare, record.Revision)
		})
	} else if !list {
		options.Numbers = a.latestNumbers(ctx, r, latestRevisions(records))
	}
	if list || !structured && len(records) == 1 {
		return a.printStartUps(ctx, c, []resource{r}, records, failed)
	}
	summary := workload.Summarize(records, options)
	means, unknown := whatif.Means(records)
	if structured {
		v := startUps(a.manyNodes(), "", a.Now)
		v.whole = func(items []api.Record) any { return workloadList{items, summary, means, unknown} }
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
	return a.print(render.Workload(name, summary, page)+render.WhatIfMeans(means, unknown, page)+"\n"+
		render.Waterfall(slowest, page, a.livePulls(ctx, slowest)...), failed)
}

// slowestOf returns the slowest start-up. The result can be a start-up in progress, because such a start-up takes at
// least as long as its current age. slowestOf ignores failed and deleted pods, because these pods did not complete a
// start-up. If all pods failed or were deleted, the result is the slowest of them.
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

// latestNumbers requests the numbers of a workload's latest revisions. The argument "names" contains the names of all
// revisions, the latest first. If there are fewer than two revisions, the method sends no request. The method also
// sends no request for kinds of workloads whose revisions have no numbers. If a request fails, the result is empty.
// With only some of the numbers, the command would sort the revisions in a wrong order.
func (a agentQuery) latestNumbers(ctx context.Context, r resource, names []string) map[string]int64 {
	if !workload.HasVersions(r.kind) || len(names) < 2 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, numbersLimit)
	defer stop()
	numbers, err := a.revisionNumbers(ctx, r, names[:min(len(names), maxNumbered)])
	if err != nil {
		return nil
	}
	return numbers
}

// revisionNumbers requests the numbers of the named revisions. The result omits revisions that Kubernetes has deleted,
// and revisions without a number.
func (a agentQuery) revisionNumbers(ctx context.Context, r resource, names []string) (map[string]int64, error) {
	if a.cluster == nil {
		return nil, errors.New("with --server, the command does not query the API server")
	}
	numbers := map[string]int64{}
	for _, name := range names {
		number, err := a.cluster.RevisionNumber(ctx, r.namespace, r.kind, r.name, name)
		var refused *client.Refusal
		switch {
		case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
			continue // Kubernetes has deleted this old revision
		case err != nil:
			return nil, err
		case number > 0:
			numbers[name] = number
		}
	}
	return numbers, nil
}

// chooseRevisions returns the names of the revisions in --revision, and the revision numbers that the command knows.
// The user can give the name or the number of a revision. If the user gives a number, the method requests the numbers
// of all known revisions, and fails if it cannot get these numbers.
func (a agentQuery) chooseRevisions(ctx context.Context, c explainConfig, r resource, records []api.Record) (
	chosen []string, numbers map[string]int64, err error) {
	known := latestRevisions(records)
	number := func(word string) bool { return !slices.Contains(known, word) && numbered(word, r) }
	if i := slices.IndexFunc(c.revisions, number); i >= 0 && len(known) > 0 {
		if numbers, err = a.revisionNumbers(ctx, r, known); err != nil {
			return nil, nil, noNumbers(c.revisions[i], r, known, err)
		}
	} else {
		numbers = a.latestNumbers(ctx, r, known)
	}
	for _, word := range c.revisions {
		i := slices.Index(known, word)
		if i < 0 {
			i = slices.IndexFunc(known, func(name string) bool {
				return numbers[name] > 0 && strconv.FormatInt(numbers[name], 10) == word
			})
		}
		if i < 0 {
			return nil, nil, unknownRevision(word, c, r, known, numbers)
		}
		chosen = append(chosen, known[i])
	}
	if len(chosen) == 2 && chosen[0] == chosen[1] {
		return nil, nil, fmt.Errorf("--revision names revision %s twice: give two different revisions", chosen[0])
	}
	return chosen, numbers, nil
}

// numbered reports whether a word in --revision can be a revision number of this workload.
func numbered(word string, r resource) bool {
	number, err := strconv.ParseInt(word, 10, 64)
	return err == nil && number > 0 && workload.HasVersions(r.kind)
}

// noNumbers returns the error for a failed request for revision numbers. The argument "word" is the number in
// --revision.
func noNumbers(word string, r resource, known []string, err error) error {
	remedy := fmt.Sprintf("Instead of the number %s, use one of these names: %s", word, revisionTexts(known, nil))
	if exitOf(err) == ExitForbidden {
		remedy += ". Or ask an administrator for the permission for this request"
	}
	return fmt.Errorf("%w of %s: %w. %s", errNoNumbers, r, err, remedy)
}

func unknownRevision(word string, c explainConfig, r resource, known []string, numbers map[string]int64) error {
	of, texts := r.String(), revisionTexts(known, numbers)
	if c.since > 0 {
		of += " in the period of --since"
	}
	switch {
	case len(known) == 0:
		return fmt.Errorf("%w: the start-ups of %s have no revision: remove --revision", errUnknownPod, of)
	case numbered(word, r) && len(numbers) < len(known):
		return fmt.Errorf("%w: cannot match the revision %s to a start-up of %s, because the numbers of some "+
			"revisions are unknown: use one of these revisions: %s", errUnknownPod, word, of, texts)
	}
	return fmt.Errorf("%w: no known start-up of %s has the revision %s: use one of these revisions: %s",
		errUnknownPod, of, word, texts)
}

// revisionTexts lists the latest revisions for an error message.
func revisionTexts(known []string, numbers map[string]int64) string {
	var texts []string
	for _, name := range known[:min(len(known), maxNumbered)] {
		texts = append(texts, render.RevisionText(api.WorkloadRevision{Name: name, Number: numbers[name]}))
	}
	return strings.Join(texts, ", ")
}

// setRevisions stores the value of --revision.
func (c *explainConfig) setRevisions(value string) error {
	if value == "" {
		return errors.New("the revision is empty: set one revision, or two revisions separated by a comma, or remove " +
			"the flag")
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

// checkResources returns an error if the user cannot combine a flag with the named resources.
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
