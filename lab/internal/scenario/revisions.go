package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// The scenario "revisions" rolls out three revisions of a Deployment. In the second revision, the pull takes three
// seconds longer, and the container takes two seconds longer to become ready. The third revision differs from the first
// revision only in a label. For the first two revisions, the kubectl plugin must report the revision numbers, the
// difference in start-up time, and the parts of this difference. The plugin must report no difference between the
// first and the third revision.
func revisions(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	const (
		count             = 5
		small, large      = 4 << 20, 16 << 20
		longer            = (large - small) / workloadPullRate * time.Second
		later             = 2 * time.Second
		difference        = longer + later
		differenceLimit   = time.Second // phases without an injected delay also differ by chance
		smallTag, bigTag  = "small", "large"
		deployment, again = "shop", "again"
	)
	closeTunnel, err := b.OpenTunnel(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeTunnel()) }()
	p, err := installPlugin(b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	g, err := createScaledWorkload(ctx, b, deployment, b.Reference(smallTag), workloadReadyAfter)
	if err != nil {
		return err
	}
	first, err := g.addCold(ctx, 0, count, smallTag, small)
	if err != nil {
		return err
	}
	if err := g.roll(ctx, bigTag, b.Reference(bigTag), workloadReadyAfter+later); err != nil {
		return err
	}
	second, err := g.addCold(ctx, 0, count, bigTag, large)
	if err != nil {
		return err
	}
	if err := p.awaitAgents(ctx); err != nil {
		return err
	}
	report, err := p.explainRevisions(ctx)
	if err != nil {
		return err
	}
	d := report.Summary.Comparison.Difference
	v.compareNumber("revision 2 minus 1", difference, meanOf(second)-meanOf(first)+later, d.Seconds, differenceLimit)
	measured, there := d.part("pull")
	v.Compare("revision 2 minus 1: pull", longer, meanOf(second)-meanOf(first), measured, there, limit)
	measured, there = d.part("readiness_probe")
	v.Compare("revision 2 minus 1: readiness_probe", later, later, measured, there, limit)
	v.requireRevisions(report, large-small)
	if v.Compared++; d.Verdict != "more_than_noise" {
		v.Problem("the verdict about revisions 1 and 2 is %q with p = %g, want more_than_noise", d.Verdict, d.P)
	}
	if err := p.requireText(ctx, v, nil, "On average, revision 2 takes ", " longer than 1: ", " s pulling (image ",
		" s until ready", "This is more than the noise of 5 and 5 start-ups."); err != nil {
		return err
	}

	if err := g.roll(ctx, again, b.Reference(smallTag), workloadReadyAfter); err != nil {
		return err
	}
	if _, err := g.addCold(ctx, 0, count, smallTag, small); err != nil {
		return err
	}
	if report, err = p.explainRevisions(ctx, "--revision", "1,3"); err != nil {
		return err
	}
	if v.Compared++; report.Summary.Comparison.Difference.Verdict == "more_than_noise" {
		v.Problem("explain reports a difference between revisions 1 and 3, which start in the same way: %+v",
			report.Summary.Comparison)
	}
	return p.requireText(ctx, v, []string{"--revision", "1,3"}, "Revisions 1 and 3: the ")
}

// explainRevisions runs "explain" with JSON output.
func (p plugin) explainRevisions(ctx context.Context, arguments ...string) (workloadReport, error) {
	response, err := p.runPlugin(ctx, append([]string{"explain", "deployment/shop", "-n", p.b.Namespace, "-o", "json"},
		arguments...)...)
	if err == nil && response.code != 0 {
		err = fmt.Errorf("run \"explain deployment/shop\": exit code %d: %s", response.code, response.stderr)
	}
	if err != nil {
		return workloadReport{}, err
	}
	return readWorkloadReport(response.stdout)
}

// requireText requires that the text output of "explain" contains each of the given parts.
func (p plugin) requireText(ctx context.Context, v *Verdict, arguments []string, parts ...string) error {
	response, err := p.runPlugin(ctx, append([]string{"explain", "deployment/shop", "-n", p.b.Namespace},
		arguments...)...)
	if err != nil {
		return err
	}
	text := strings.Join(strings.Fields(response.stdout), " ")
	for _, part := range parts {
		if v.Compared++; response.code != 0 || !strings.Contains(text, part) {
			v.Problem("explain %v: exit code %d, and the text does not contain %q:\n%s%s", arguments, response.code,
				part,
				response.stdout, response.stderr)
		}
	}
	v.Note("explain deployment/shop %s:\n%s", strings.Join(arguments, " "), response.stdout)
	return nil
}

// requireRevisions requires that the latest revision has number 2, and that the earlier revision has number 1. The
// latest revision must have a larger image than the earlier revision. The argument "larger" is the expected difference
// between the image sizes in bytes. A small deviation is allowed. All pods of a revision must have pulled the image.
func (v *Verdict) requireRevisions(report workloadReport, larger int64) {
	const tolerance = 64 << 10
	revisions := report.Summary.Revisions
	if v.Compared++; len(revisions) != 2 {
		v.Problem("explain reports %d revisions, want 2", len(revisions))
		return
	}
	latest, earlier := revisions[0], revisions[1]
	off := latest.ImageBytes - earlier.ImageBytes - larger
	if v.Compared++; latest.Number != 2 || earlier.Number != 1 || latest.Pulled != 5 || earlier.Pulled != 5 ||
		earlier.ImageBytes == 0 || max(off, -off) > tolerance {
		v.Problem("explain reports the revisions %+v, want the numbers 2 and 1, 5 pulls each, and an image that is %d "+
			"bytes larger", revisions, larger)
	}
}
