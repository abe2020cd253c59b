package scenario

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// The sizes and download rates of the images, and the limits of the scenario. With these values, each slow download
// takes some seconds, and the unpacking of many files also takes some seconds.
const (
	unpackFiles   = 40_000
	unpackAtLeast = time.Second // if unpacking takes less time, the machine is too fast for this number of files
	downloadLayer = 3 << 20     // bytes
	downloadRate  = 512 << 10   // bytes per second
	diskCause     = "disk"
	registryCause = "registry"
)

// The scenario "unpack" pulls three images. The download of the first image is slow, and the unpacking of the second
// image is slow. For the third image, the runtime unpacks the first layer during the download of the second layer. The
// registry's log shows when the registry sent the last byte, and containerd's log shows when the image was complete.
// Until the last byte, the duration of the pull depends on the registry. After the last byte, the duration depends on
// the disk.
func unpack(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	p, err := watchPulls(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.checkAgents(v)) }()
	files, err := image.ManyFiles(unpackFiles)
	if err != nil {
		return err
	}
	moreFiles, err := image.ManyFiles(unpackFiles)
	if err != nil {
		return err
	}
	bytes, err := image.RandomLayers(downloadLayer, downloadLayer)
	if err != nil {
		return err
	}
	cases := []struct {
		name   string
		layers []v1.Layer
		// rate is the registry's rate in bytes per second. Zero means an unlimited rate. If the rate is unlimited, the
		// runtime has unpacked only a small part of the image when the last byte arrives.
		rate int64
	}{
		{"slow-registry", bytes[:1], downloadRate},
		{"slow-disk", []v1.Layer{files}, 0},
		// On most disks, even beside other work, the unpacking of the first layer takes less time than the download of
		// the second layer at this rate.
		{"overlap", []v1.Layer{moreFiles, bytes[1]}, downloadRate / 4},
	}
	if err := p.awaitAgents(ctx); err != nil {
		return err
	}
	for _, c := range cases {
		reference, err := b.ImageOf(ctx, c.name, c.layers...)
		if err != nil {
			return err
		}
		if c.rate > 0 {
			if err := b.Break(ctx, c.name, registry.Rule{BytesPerSecond: c.rate}); err != nil {
				return err
			}
		}
		if err := p.runUnpacked(ctx, plainCase(c.name, reference, agent.Downloaded), c.rate == 0,
			len(c.layers)); err != nil {
			return err
		}
	}
	return nil
}

// runUnpacked runs one case and checks the causes that the agents report.
func (p *pullRun) runUnpacked(ctx context.Context, c pullCase, unpacks bool, layers int) error {
	if err := p.start(ctx, c); err != nil {
		return err
	}
	for _, j := range p.judges {
		if err := j.judgeUnpacked(ctx, c, unpacks, layers); err != nil {
			return err
		}
	}
	return nil
}

func (j *pullJudge) judgeUnpacked(ctx context.Context, c pullCase, unpacks bool, layers int) error {
	timeline, err := j.settledTimeline(ctx, c.pod)
	if err != nil {
		return err
	}
	attempts, err := j.attemptsOf(ctx, c.pod, c.wants[0])
	if err != nil {
		return err
	}
	v := j.verdict
	v.Contract(timeline)
	v.requireDownload(timeline, mainName)
	if len(attempts) != 1 {
		v.Problem("%s: the kubelet pulled %d times, want 1: the scenario is not conclusive", c.pod, len(attempts))
		return nil
	}
	a := attempts[0]
	if took := a.Unpacked(); unpacks != (took > unpackAtLeast) {
		v.Problem("%s: the pull took %s s after its last byte, which does not fit the case: the scenario is not "+
			"conclusive", c.pod,
			seconds(took))
	}
	if !j.sources.runtime {
		j.judgeUndivided(c, a, timeline)
		return nil
	}
	log, err := j.runtimeLog(timeline)
	if err != nil {
		return err
	}
	if err := j.judgeParts(c, a, neighborsIn(log, c.spec, mainName), unpacks, timeline); err != nil {
		return err
	}
	j.judgeBusy(c, a, layers, timeline)
	return nil
}

// judgeParts compares the phases "pull" and "unpack" with the truth. The largest accepted difference is the sum of
// three durations: the constant "exact", the time from the last byte until the runtime has stored the content, and the
// agent's error bound for the phase. If the agent's evidence justifies only a smaller error bound, judgeParts uses the
// smaller bound. An agent without Events derives the start of the pull and the end of the unpacking from two sources.
// These sources are the runtime's records, and the steps before and after the pull.
func (j *pullJudge) judgeParts(c pullCase, a bench.Attempt, near neighborInstants, unpacks bool,
	timeline agent.Timeline) error {
	var download time.Duration
	if !unpacks {
		download = downloadLayer / downloadRate * time.Second
	}
	for _, part := range []struct {
		phase, cause    string
		injected, truth time.Duration
		known           neighborInstants // instants that limit the error bound
	}{
		{"pull", registryCause, download, a.RegistryTime.Length(), neighborInstants{before: near.before}},
		{"unpack", diskCause, a.Unpacked().Round(100 * time.Millisecond), a.Unpacked(),
			neighborInstants{after: near.after}},
	} {
		measured, there, err := timeline.In(part.phase, mainName)
		if err != nil {
			return err
		}
		stated, err := timeline.Stated(part.phase, mainName)
		if err != nil {
			return err
		}
		// If the pull or the unpacking is short, the agent is allowed to merge these two phases.
		j.verdict.Compare(c.pod+" "+part.phase, part.injected, part.truth, measured, there || part.truth < exact,
			exact+a.Storing()+min(stated, j.sources.largestError(a, part.known)))
		for _, phase := range timeline.Phases {
			if phase.Phase == part.phase && phase.Cause != part.cause {
				j.verdict.Problem("%s: the cause of phase %s is %q, want %q", c.pod, part.phase, phase.Cause,
					part.cause)
			}
		}
	}
	return nil
}

// judgeUndivided checks an agent that does not know when the last byte arrived. The agent must report the total
// duration of pull and unpacking in a group phase, which stands for several phases. The agent must list "pull" and
// "unpack" as candidates, and must not name a cause.
func (j *pullJudge) judgeUndivided(c pullCase, a bench.Attempt, timeline agent.Timeline) {
	var both time.Duration
	for _, phase := range timeline.Phases {
		names := append([]string{phase.Phase}, phase.MergedWith...)
		if !slices.Contains(names, "pull") && !slices.Contains(names, "unpack") {
			continue
		}
		length, err := agent.Nanoseconds(phase.Seconds)
		if err != nil {
			j.verdict.Problem("%s: phase %s: %v", c.pod, phase.Phase, err)
		}
		if both += length; !phase.IsGroup() && length > exact {
			j.verdict.Problem(
				"%s: for %s s, the agent reports the cause %q, but no evidence of the agent separates the "+
					"parts of the pull",
				c.pod,
				phase.Seconds,
				phase.Cause,
			)
		}
	}
	j.verdict.Compare(c.pod+" pull and unpack", a.Call.Length().Round(100*time.Millisecond), a.Call.Length(), both,
		true, exact+j.sources.largestError(a, neighborInstants{}))
	if pull, _ := timeline.PullOf(mainName); pull.Unpack != nil || pull.Download != nil || len(pull.Layers) > 0 {
		j.verdict.Problem("%s: the agent reports layers without any evidence of layers", c.pod)
	}
}

// judgeBusy requires that the agent reports how long the runtime unpacked the image. The agent must report this time
// even if the unpacking did not prolong the pull. In the case "overlap", the runtime unpacks the first layer during the
// download of the second layer. This first layer has as many files as the layer in the case "slow-disk". Therefore, the
// unpacking of this layer takes about as long as in the case "slow-disk".
func (j *pullJudge) judgeBusy(c pullCase, a bench.Attempt, layers int, timeline agent.Timeline) {
	pull, _ := timeline.PullOf(mainName)
	if pull.Unpack == nil {
		j.verdict.Problem("%s: the agent does not report the unpacking of the image", c.pod)
		return
	}
	busy, err := agent.Nanoseconds(pull.Unpack.Seconds)
	switch {
	case err != nil:
		j.verdict.Problem("%s: unpack: %v", c.pod, err)
	case busy > a.Call.Length()+exact:
		j.verdict.Problem("%s: the entire pull took %s s, but the agent reports %s s for unpacking", c.pod,
			seconds(a.Call.Length()), seconds(busy))
	case c.pod != "slow-registry" && busy < unpackAtLeast:
		j.verdict.Problem("%s: the agent reports only %s s for unpacking, want at least 1 s", c.pod, seconds(busy))
	}
	// The agent is allowed to omit a layer that the node already had.
	if reported := len(pull.Layers); reported != layers && reported != layers+1 {
		j.verdict.Problem("%s: the runtime downloaded %d layers, but the agent reports %d", c.pod, layers, reported)
	}
	j.verdict.Note("%s: the pull took %s s, and its last byte arrived after %s s; the agent reports %s s for unpacking",
		c.pod, seconds(a.Call.Length()), seconds(a.RegistryTime.EndAt.Sub(a.Call.StartAt)), seconds(busy))
}
