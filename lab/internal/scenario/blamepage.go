package scenario

import (
	"context"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/layout"
)

// pageVariable names the environment variable that contains the path of the accuracy page. The exam writes its result
// to the accuracy page.
const pageVariable = "PODLAPSE_ACCURACY_PAGE"

// notTried lists the situations that the lab cannot test, and the reasons.
var notTried = [][2]string{
	{"Dynamically allocated devices (DRA)", "the lab has no driver for these devices"},
	{
		"Lazy snapshotters (stargz, nydus)",
		"the `blame` scenario runs on a node without a lazy snapshotter. With a lazy snapshotter, a pull takes " +
			"almost no time and the container starts slowly. The scenario `lazy-pull` tests pulls with stargz",
	},
	{
		"Credential plugins that run within the pull time",
		"only kubelets up to version 1.32 count the time of these plugins as pull time. The lab's newer kubelet runs " +
			"these plugins before the pull",
	},
	{
		"Credential plugins that run after a post-start hook",
		"the kubelet of the `blame` scenario has no credential plugin. The scenario `pulls` tests this situation on " +
			"the stack `certificates` of the lab",
	},
	{"Runtimes that create sandboxes themselves (shim sandboxers)", "the lab has only runc"},
	{"CRI-O", "the Go module proxy does not serve CRI-O, so the lab cannot build it"},
	{
		"Other versions of Kubernetes and containerd",
		"this page is about one version of each. [Compatibility](compatibility.md) has the results for other versions",
	},
	{
		"The API server unreachable while the kubelet reads the objects of a volume",
		"the lab cannot stop the API server after the binding and before the read",
	},
	{
		"The API server unreachable between the binding and the kubelet's pickup of the pod",
		"the lab cannot stop the API server in time, because only milliseconds pass between the binding and the pickup",
	},
	{
		"The kubelet stopped during a back-off, a probe or a post-start hook",
		"no evidence shows how long the kubelet would have waited without the stop. For a back-off, the error bound " +
			"includes all time beyond the longest possible back-off",
	},
	{
		"A node reboot. A new image under the same name while a container of the old image crashes",
		"only scripts in pkg/timeline/testdata test these situations",
	},
	{
		"Other lost sources: no runtime, an agent that starts during the start-up",
		"the `blame` scenario has the runtime and an agent that runs from the beginning. The scenarios " +
			"`lost-events`, `pulls` and `restart` test lost sources, and so do simulations in pkg/timeline",
	},
	{
		"An API server that deletes Events earlier than 50 minutes after their last update (`--event-ttl`)",
		"the agent assumes that such an Event still exists. If the API server has already deleted the Event, an " +
			"agent that starts late, or that stopped its Event watches for some minutes, does not report that the " +
			"Event is missing",
	},
	{"More than one node, and clocks that differ", "the lab has one node"},
}

// pageIntroduction is the text of the accuracy page before the first numbers.
const pageIntroduction = `# Accuracy

podlapse names a cause for each second of a start-up. This page shows how often podlapse names the correct cause.
The lab injects faults into start-ups on a real node, so the actual cause is known. The lab compares the cause that
podlapse reports with independent evidence:

- the logs of the kubelet, containerd, the network plugin and the registry
- containerd's events about the starts of processes
- the log of the program in each container
- the lab's own actions

The lab's ` + "`blame`" + ` scenario writes this page. ` + "`make accuracy-page`" + ` regenerates the page.
` + "`make scenario NAME=blame`" + ` runs the scenario without writing the page.

`

// pageRules explains the numbers of the accuracy page.
const pageRules = `
- **Right**: podlapse reports the actual cause.
- **Unattributed**: podlapse reports no single cause (phases ` + "`unattributed`, `image_pull` and `sandbox_setup`" +
	`). If podlapse reports a wrong cause for a phase,
  the first and the last part of this phase also count as unattributed. Each part is as long as the phase's error bound.
- **Wrong**: podlapse reports a wrong cause, or candidates that do not include the actual cause. The first and
  the last part of the phase do not count as wrong.
- **Not judged**: the independent evidence does not show the actual cause.

Timestamps in logs are accurate to 50 ms. So if the actual cause changes, both the earlier cause and the later cause
count as right from 50 ms before the change until 50 ms after it.

If two parties are equally responsible, for example because a registry is slow while containerd is stopped, either
cause counts as right.
`

// pageWithoutEvents introduces the table of the phases with and without Events.
const pageWithoutEvents = `
## Without Events

This table shows what timelines lose without Events. The scenario replays the agent's recording without the observations
of Event watches, as if the agent had run with ` + "`--events=off`" + `. The result is similar if the agent [does not
watch a namespace](scale.md#many-nodes-that-pull-in-one-namespace).
A mean error bound covers only the phases that the replay still shows. For example, a phase with a large error bound can
be ` + "`unattributed`" + ` in the replay.

`

// writePage writes the result of the exam as the accuracy page.
func (e *exam) writePage(ctx context.Context, path string, sum blame.Score, w eventlessExam,
	lengths, violations int) error {
	var node corev1.Node
	if err := e.bench.Kube.Get(ctx, "/api/v1/nodes/"+layout.NodeName, &node); err != nil {
		return fmt.Errorf("read the versions of the node's software for the page: %w", err)
	}
	info := node.Status.NodeInfo
	var page strings.Builder
	page.WriteString(pageIntroduction)
	fmt.Fprintf(&page, "Measured with Kubernetes %s and %s on Linux %s (%s), with %d start-ups.\n\n",
		info.KubeletVersion, strings.Replace(info.ContainerRuntimeVersion, "://", " ", 1), info.KernelVersion,
		info.Architecture, len(e.results))
	page.WriteString("| | seconds | share of the judged time |\n|---|--:|--:|\n")
	share := func(part float64) string { return fmt.Sprintf("%.2f %%", 100*part/max(sum.Judged().Seconds(), 0.001)) }
	fmt.Fprintf(&page, "| right | %.1f | %s |\n", sum.Right.Seconds(), share(sum.Right.Seconds()))
	fmt.Fprintf(&page, "| unattributed | %.1f | %s |\n", sum.Unattributed.Seconds(), share(sum.Unattributed.Seconds()))
	fmt.Fprintf(&page, "| **wrong** | %.1f | %s |\n", sum.Wrong.Seconds(), share(sum.Wrong.Seconds()))
	fmt.Fprintf(&page, "| not judged | %.1f | |\n", sum.Unjudged.Seconds())
	page.WriteString(pageRules)
	page.WriteString("\n" + describeLengths(lengths, violations) + "\n")
	page.WriteString(
		"\n## Actual and reported causes\n\n" +
			"Rows are the actual causes. Columns are the causes that podlapse reports. All values are in seconds.\n\n",
	)
	sum.Cells.Markdown(&page)
	page.WriteString(
		"\n## What was tested\n\nAll values are in seconds.\n\n" +
			"| start-up | fault and actual cause | right | unattributed | wrong |\n|---|---|--:|--:|--:|\n",
	)
	for _, r := range e.results {
		if r.failed == nil {
			fmt.Fprintf(&page, "| %s | %s | %.1f | %.1f | %.1f |\n", r.name, r.culprit, r.score.Right.Seconds(),
				r.score.Unattributed.Seconds(), r.score.Wrong.Seconds())
		}
	}
	page.WriteString(pageWithoutEvents)
	fmt.Fprintf(&page, "Without Events, %.1f s are right, %.1f s unattributed, and %.1f s wrong.\n\n",
		w.score.Right.Seconds(), w.score.Unattributed.Seconds(), w.score.Wrong.Seconds())
	page.WriteString("| phase | seconds with Events | without Events | mean error bound with Events, seconds | " +
		"without Events |\n|---|--:|--:|--:|--:|\n")
	w.write(&page, "| `%s` | %s | %s | %s | %s |\n")
	page.WriteString("\n## What was not tested\n\n| situation | why |\n|---|---|\n")
	for _, each := range notTried {
		fmt.Fprintf(&page, "| %s | %s |\n", each[0], each[1])
	}
	if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// describeLengths returns the sentences about the phases with a known duration. The argument "violations" is the number
// of these phases whose known duration is outside podlapse's error bound.
func describeLengths(lengths, violations int) string {
	right := "all of them"
	if violations > 0 {
		right = fmt.Sprintf("%d of them", lengths-violations)
	}
	return fmt.Sprintf("The independent evidence shows the exact duration of %d phases. "+
		"For %s, podlapse's duration is correct within its error bound.", lengths, right)
}
