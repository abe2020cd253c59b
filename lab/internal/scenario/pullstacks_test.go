package scenario

import (
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

func currentStack(t *testing.T) stack.Stack { return stackNamed(t, stack.Current) }

func stackNamed(t *testing.T, name string) stack.Stack {
	t.Helper()
	s, err := stack.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// expect requires that the problems contain the wanted text, or that there are no problems if the text is empty.
func expect(t *testing.T, name string, problems []string, want string) {
	t.Helper()
	if got := strings.Join(problems, "; "); (got != "") != (want != "") || !strings.Contains(got, want) {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

// TestBytesByStack checks the reported bytes of one pull. The stack decides whether the agent can know the bytes.
func TestBytesByStack(t *testing.T) {
	const missing = "does not report the download"
	whole, part, more := &agent.Download{Bytes: 598_000}, &agent.Download{Bytes: 70_000},
		&agent.Download{Bytes: 600_001}
	for name, test := range map[string]struct {
		stack    string
		view     view
		download *agent.Download
		want     string // part of the expected output; empty if the verdict passes
	}{
		"all bytes":                           {stack.Current, fullView, whole, ""},
		"no bytes":                            {stack.Current, fullView, nil, missing},
		"no bytes, with parallel pulls":       {"gke", fullView, nil, missing},
		"no bytes, containerd 1":              {"containerd-1.7", fullView, nil, missing},
		"no bytes, without Events":            {stack.Current, viewWithoutEvents, nil, ""},
		"too few bytes":                       {stack.Current, fullView, part, "reports 70000"},
		"all bytes, layers discarded":         {"eks", fullView, whole, ""},
		"no bytes, layers discarded":          {"eks", fullView, nil, ""},
		"too few bytes, layers discarded":     {"eks", fullView, part, "reports 70000"},
		"too many bytes, layers discarded":    {"eks", fullView, more, "reports 600001"},
		"too few, discarded, without Events":  {"eks", viewWithoutEvents, part, "reports 70000"},
		"too many, discarded, without Events": {"eks", viewWithoutEvents, more, "reports 600001"},
		"none, discarded, without Events":     {"eks", viewWithoutEvents, nil, ""},
	} {
		c, truth, timeline := retried()
		timeline.Pulls[1].Download = test.download
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, test.stack), view: test.view}
		j.judgeBytes(name, c, truth[1], timeline.Pulls[1])
		expect(t, name, j.verdict.Problems, test.want)
	}
}

// TestSharedBytesByStack checks the reported bytes of two pulls that share a layer of 512 KiB. The registry sent this
// layer to the first pull, as a real run on the stack "eks" showed.
func TestSharedBytesByStack(t *testing.T) {
	const first, second = 594_400, 66_542 // bytes of configuration and layers
	type reports [2]*agent.Download
	bytes := func(count int64) *agent.Download { return &agent.Download{Bytes: count} }
	for name, test := range map[string]struct {
		stack   string
		view    view
		reports reports
		want    string
	}{
		"each its own":              {stack.Current, fullView, reports{bytes(592_896), bytes(66_000)}, ""},
		"shared in the second":      {stack.Current, fullView, reports{bytes(68_096), bytes(590_800)}, ""},
		"shared in none":            {stack.Current, fullView, reports{bytes(68_096), bytes(66_000)}, "reports 134096"},
		"shared in both":            {stack.Current, fullView, reports{bytes(592_896), bytes(590_800)}, "1183696"},
		"one not reported":          {stack.Current, fullView, reports{bytes(592_896), nil}, "reports 592896"},
		"one not reported, a view":  {stack.Current, viewWithoutEvents, reports{bytes(592_896), nil}, ""},
		"discarded, second absent":  {"eks", fullView, reports{bytes(592_896), nil}, ""},
		"discarded, first absent":   {"eks", fullView, reports{nil, bytes(66_000)}, ""},
		"discarded, both absent":    {"eks", fullView, reports{}, ""},
		"discarded, shared in none": {"eks", fullView, reports{bytes(68_096), bytes(66_000)}, "reports 134096"},
		"discarded, shared in both": {"eks", fullView, reports{bytes(592_896), bytes(590_800)}, "1183696"},
		"discarded, a part of one":  {"eks", fullView, reports{bytes(68_096), nil}, "reports only 68096"},
		"discarded, a part, a view": {"eks", viewWithoutEvents, reports{bytes(68_096), nil}, "only 68096"},
		"discarded, too many":       {"eks", fullView, reports{nil, bytes(662_349)}, "reports 662349"},
	} {
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, test.stack), view: test.view}
		j.judgeSharedBytes([]sharingPull{
			{pod: "shares-3", sent: first + 703, blobs: first, reported: test.reports[0]},
			{pod: "shares-4", sent: second + 703, blobs: second, reported: test.reports[1]},
		})
		expect(t, name, j.verdict.Problems, test.want)
	}
}
