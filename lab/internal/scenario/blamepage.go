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

// pageVariable names the file that the exam writes its result to, as a page for users.
const pageVariable = "PODLAPSE_ACCURACY_PAGE"

// notTried is what the lab cannot make, and why.
var notTried = [][2]string{
	{"Dynamically allocated devices (DRA)", "the lab has no driver for them"},
	{
		"Lazy snapshotters (stargz, nydus)",
		"they need a kernel module or a daemon that the lab does not build; with them a pull looks instant and " +
			"the container is slow to start",
	},
	{
		"Credential plugins inside the time of a pull",
		"kubelet up to 1.32 counts them in; the lab has a later one, which runs them before",
	},
	{"Runtimes that make sandboxes by themselves (shim sandboxers)", "the lab has runc alone"},
	{"CRI-O, and other versions of Kubernetes and containerd", "the lab builds one version of each"},
	{
		"The API server away while kubelet reads the objects of a volume",
		"the lab cannot stop it between the binding and the read without stopping both",
	},
	{
		"The API server away between the binding and kubelet's taking the pod up",
		"the lab cannot stop it in time: both follow within milliseconds",
	},
	{
		"Kubelet stopped amid a back-off or a probe",
		"nothing shows how long kubelet would have waited; of a back-off the stated error holds what is longer than it can be",
	},
	{
		"A reboot of the node, an image that is changed in place while its container crashes",
		"only by scripts in pkg/timeline/testdata",
	},
	{
		"Sources that are lost: no Events, no runtime, an agent that comes midway",
		"the exam has all sources; scenarios lost-events, pulls and restart take them away, and simulated lives in pkg/timeline",
	},
	{"More than one node, and clocks that differ", "the lab has one node"},
}

// pageIntroduction is the page up to its first figures.
const pageIntroduction = `# Accuracy

podlapse names a culprit for each second of a start-up. This page shows how often it is right. The lab plays start-ups
with a known culprit on a real node, and compares whom podlapse blames with what other witnesses say: the logs of
kubelet, of containerd, of the network plugin and of the registry, the program in each container, and the lab's own
actions.

The exam itself writes this page: ` + "`make accuracy-page`" + ` writes it again, and
` + "`make scenario NAME=blame`" + ` runs the exam alone.

`

// pageRules is how the page explains its figures.
const pageRules = `
- **Right**: podlapse blames the culprit.
- **Unattributed**: podlapse blames nobody (phase ` + "`unattributed`" + `), or its stated error is all that excuses it.
- **Wrong**: podlapse blames somebody else by more than its stated error, or names candidates of which none is the
  culprit.
- **Not judged**: no witness knows who was to blame.

Logs date an instant to within 50 ms. Around the instant at which one culprit gives way to the next, either is right.

Where two parties are equally to blame, such as a registry that was slow while containerd was stopped, either is right.
`

// writePage writes the result of the exam as a page.
func (e *exam) writePage(ctx context.Context, path string, sum blame.Score, lengths, violations int) error {
	var node corev1.Node
	if err := e.bench.Kube.Get(ctx, "/api/v1/nodes/"+layout.NodeName, &node); err != nil {
		return fmt.Errorf("read the versions for the page: %w", err)
	}
	info := node.Status.NodeInfo
	var page strings.Builder
	page.WriteString(pageIntroduction)
	fmt.Fprintf(&page, "Tried with Kubernetes %s and %s on Linux %s (%s), with %d start-ups.\n\n",
		info.KubeletVersion, strings.Replace(info.ContainerRuntimeVersion, "://", " ", 1), info.KernelVersion,
		info.Architecture, len(e.results))
	page.WriteString("| | seconds | share of the judged time |\n|---|--:|--:|\n")
	share := func(part float64) string { return fmt.Sprintf("%.2f %%", 100*part/max(sum.Judged().Seconds(), 0.001)) }
	fmt.Fprintf(&page, "| blamed right | %.1f | %s |\n", sum.Right.Seconds(), share(sum.Right.Seconds()))
	fmt.Fprintf(&page, "| unattributed | %.1f | %s |\n", sum.Unattributed.Seconds(), share(sum.Unattributed.Seconds()))
	fmt.Fprintf(&page, "| **blamed wrong** | %.1f | %s |\n", sum.Wrong.Seconds(), share(sum.Wrong.Seconds()))
	fmt.Fprintf(&page, "| not judged | %.1f | |\n", sum.Unjudged.Seconds())
	page.WriteString(pageRules)
	fmt.Fprintf(&page,
		"\nThe true length of %d phases is known. For %d of them it lies inside the error that podlapse states.\n",
		lengths, lengths-violations)
	page.WriteString(
		"\n## Culprits and whom podlapse blames\n\n" +
			"Seconds of each culprit (rows), and whom podlapse blames for them (columns).\n\n",
	)
	sum.Cells.Markdown(&page)
	page.WriteString(
		"\n## What was tried\n\nSeconds of each start-up.\n\n" +
			"| start-up | what is wrong, and who is to blame | right | unattributed | wrong |\n|---|---|--:|--:|--:|\n",
	)
	for _, r := range e.results {
		if r.failed == nil {
			fmt.Fprintf(&page, "| %s | %s | %.1f | %.1f | %.1f |\n", r.name, r.culprit, r.score.Right.Seconds(),
				r.score.Unattributed.Seconds(), r.score.Wrong.Seconds())
		}
	}
	page.WriteString("\n## What was not tried\n\n| situation | why |\n|---|---|\n")
	for _, each := range notTried {
		fmt.Fprintf(&page, "| %s | %s |\n", each[0], each[1])
	}
	if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
