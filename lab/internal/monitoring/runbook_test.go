package monitoring

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The runbook's table must contain every phase with the threshold from the rules.
func TestRunbookListsPhaseLimits(t *testing.T) {
	reported := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| (`[a-z_`, ]+`) \\| (\\d+) min")
	for _, m := range row.FindAllStringSubmatch(string(read(t, docs, "runbooks", "PodlapsePodsStuckInPhase.md")), -1) {
		for phase := range strings.SplitSeq(m[1], ", ") {
			reported[strings.Trim(phase, "`")] = m[2]
		}
	}
	limits := 0
	for _, r := range rules(t) {
		// In these phases, the pod has no node yet, so no agent sees the pod.
		beforeNode := slices.Contains([]string{"scheduling_gate", "unschedulable", "scheduling"}, r.Labels["phase"])
		if r.Record != "podlapse:phase_stuck:seconds" || beforeNode {
			continue
		}
		limits++
		minutes, err := strconv.Atoi(reported[r.Labels["phase"]])
		if want := "vector(" + strconv.Itoa(60*minutes) + ")"; err != nil || r.Expr != want {
			t.Errorf("phase %s: the limit in the runbook is %q minutes, but the expression in the rules is %s",
				r.Labels["phase"], reported[r.Labels["phase"]], r.Expr)
		}
	}
	if limits != len(reported) {
		t.Errorf("the runbook has %d phases, but the rules have %d phases with a limit", len(reported), limits)
	}
}

// The runbook must explain all failure reasons for which the registry is the cause, and no other reasons.
func TestRunbookListsRegistryReasons(t *testing.T) {
	reasons := regexp.MustCompile(`reason=~"([a-z_|]+)"`)
	var blamed []string
	for _, r := range rules(t) {
		if r.Record != "node_registry:podlapse_image_pulls_failing:sum" {
			continue
		}
		if m := reasons.FindStringSubmatch(r.Expr); m != nil {
			blamed = strings.Split(m[1], "|")
		}
	}
	_, table, _ := strings.Cut(string(read(t, docs, "runbooks", "PodlapseRegistryFailing.md")),
		"| reason | what to check |")
	table, silent, _ := strings.Cut(table, "## When it is wrong")
	var reported []string
	for _, m := range regexp.MustCompile("(?m)^\\| (`[a-z_`, ]+`) \\|").FindAllStringSubmatch(table, -1) {
		for reason := range strings.SplitSeq(m[1], ", ") {
			reported = append(reported, strings.Trim(reason, "`"))
		}
	}
	slices.Sort(blamed)
	slices.Sort(reported)
	if len(blamed) == 0 || !slices.Equal(blamed, reported) {
		t.Errorf("the rules name the registry as the cause for %v, but the runbook lists %v", blamed, reported)
	}
	for _, reason := range blamed {
		if strings.Contains(silent, "`"+reason+"`") {
			t.Errorf("the runbook must not list %s among the reasons without an alert", reason)
		}
	}
}

// Each runbook must begin with commands that do not need Prometheus. Each command must be complete.
func TestRunbooksBeginWithCommands(t *testing.T) {
	block := regexp.MustCompile("(?s)```sh\n(.*?)```")
	command := regexp.MustCompile(`kubectl podlapse ([a-z]+)`)
	known := []string{"explain", "top", "pulls", "nodes", "registries", "report", "page", "replay"}
	for _, path := range pages(t) {
		text := string(read(t, path))
		_, rest, _ := strings.Cut(text, "\n## ")
		first, _, _ := strings.Cut(rest, "\n## ")
		if !strings.HasPrefix(first, "First commands\n") {
			t.Errorf("%s does not begin with the section First commands", path)
		}
		blocks := block.FindAllStringSubmatch(first, -1)
		if len(blocks) == 0 || !strings.HasPrefix(blocks[0][1], "kubectl podlapse ") {
			t.Errorf("%s does not begin with a command of kubectl podlapse", path)
		}
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s: unknown command %s", path, m[0])
			}
		}
		for _, vague := range []string{"in the agent's pod", "NAMESPACE/POD", "`/api/", "`/readyz"} {
			if strings.Contains(text, vague) {
				t.Errorf("%s: %q is not a complete command", path, vague)
			}
		}
	}
}
