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

// How much to unpack and to download. Each takes seconds.
const (
	unpackFiles    = 40_000
	unpackAtLeast  = time.Second // otherwise the machine is too fast for so few files
	downloadLayer  = 3 << 20     // bytes
	downloadRate   = 512 << 10   // bytes per second
	diskCause      = "disk"
	registryCause  = "registry"
	mostlyUnpacked = 500 * time.Millisecond // for the last, small layer, after its last byte
)

// unpack pulls three images: one that downloads slowly, one that unpacks slowly, and one whose first layer is unpacked
// while the second is downloaded. The registry's log shows when the last byte was sent, and containerd's when the image
// was complete. Before the last byte the registry is to blame, afterwards the disk.
func unpack(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	p, err := watchPulls(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.report(v)) }()
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
		// The registry's rate in bytes per second. 0 is unlimited, so most of the image is still to be unpacked after
		// the last byte.
		rate int64
	}{
		{"slow-registry", bytes[:1], downloadRate},
		{"slow-disk", []v1.Layer{files}, 0},
		{"overlap", []v1.Layer{moreFiles, bytes[1]}, downloadRate / 2}, // slower than most disks unpack
	}
	if err := p.settle(ctx); err != nil {
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
		if err := p.unpacked(ctx, plain(c.name, reference, agent.Downloaded), c.rate == 0, len(c.layers)); err != nil {
			return err
		}
	}
	return nil
}

// unpacked runs one case and judges whom the agents blame.
func (p *pullRun) unpacked(ctx context.Context, c pullCase, unpacks bool, layers int) error {
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
	timeline, err := j.settled(ctx, c.pod)
	if err != nil {
		return err
	}
	attempts, err := j.attempts(ctx, c.pod, c.wants[0])
	if err != nil {
		return err
	}
	v := j.verdict
	v.Contract(timeline)
	v.downloaded(timeline, mainName)
	if len(attempts) != 1 {
		v.Problem("%s: the kubelet pulled %d times, so the scenario is not conclusive", c.pod, len(attempts))
		return nil
	}
	a := attempts[0]
	if took := a.Unpacked(); unpacks != (took > unpackAtLeast) || !unpacks && took > mostlyUnpacked {
		v.Problem("%s: from the last byte to completion it took %s, so the scenario is not conclusive", c.pod,
			seconds(took))
	}
	if !j.view.runtime {
		j.judgeUndivided(c, a, timeline)
		return nil
	}
	var download time.Duration
	if !unpacks {
		download = downloadLayer / downloadRate * time.Second
	}
	for _, part := range []struct {
		phase, cause    string
		injected, truth time.Duration
	}{
		{"pull", registryCause, download, a.Asked.Length()},
		{"unpack", diskCause, a.Unpacked().Round(100 * time.Millisecond), a.Unpacked()},
	} {
		measured, there, err := timeline.In(part.phase, mainName)
		if err != nil {
			return err
		}
		// Such a short phase may be merged into the other one.
		v.Compare(c.pod+" "+part.phase, part.injected, part.truth, measured, there || part.truth < exact, exact)
		for _, phase := range timeline.Phases {
			if phase.Phase == part.phase && phase.Cause != part.cause {
				v.Problem("%s: phase %s is charged to %q instead of %q", c.pod, part.phase, phase.Cause, part.cause)
			}
		}
	}
	j.judgeBusy(c, a, layers, timeline)
	return nil
}

// judgeUndivided is for an agent without evidence of the last byte. It must report how long both took together, name
// both, and charge neither.
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
		if both += length; phase.Phase != agent.Unattributed && length > exact {
			j.verdict.Problem("%s: %s s are charged to %q, but the agent has no evidence which part of the pull it was",
				c.pod, phase.Seconds, phase.Cause)
		}
	}
	j.verdict.Compare(c.pod+" pull and unpack", a.Call.Length().Round(100*time.Millisecond), a.Call.Length(), both,
		true, exact+j.view.worst(a, neighbors{}))
	if pull, _ := timeline.PullOf(mainName); pull.Unpack != nil || pull.Download != nil || len(pull.Layers) > 0 {
		j.verdict.Problem("%s: the agent reports layers, but has no evidence of them", c.pod)
	}
}

// judgeBusy requires that the agent reports the time in which anything was unpacked, even if it delayed nothing: the
// files of the overlap's first layer take as long as those of the slow disk, while the second layer is downloaded.
func (j *pullJudge) judgeBusy(c pullCase, a bench.Attempt, layers int, timeline agent.Timeline) {
	pull, _ := timeline.PullOf(mainName)
	if pull.Unpack == nil {
		j.verdict.Problem("%s: the agent does not report its unpacking", c.pod)
		return
	}
	busy, err := agent.Nanoseconds(pull.Unpack.Seconds)
	switch {
	case err != nil:
		j.verdict.Problem("%s: unpack: %v", c.pod, err)
	case busy > a.Call.Length()+exact:
		j.verdict.Problem("%s: the entire pull took %s, but the agent reports %s of unpacking", c.pod,
			seconds(a.Call.Length()), seconds(busy))
	case c.pod != "slow-registry" && busy < unpackAtLeast:
		j.verdict.Problem("%s: the agent reports only %s of unpacking", c.pod, seconds(busy))
	}
	// A layer that was present may be omitted.
	if reported := len(pull.Layers); reported != layers && reported != layers+1 {
		j.verdict.Problem("%s: %d layers were downloaded, the agent reports %d", c.pod, layers, reported)
	}
	j.verdict.Note("%s: %s from call to completion, the last byte after %s, unpacking for %s according to the agent",
		c.pod, seconds(a.Call.Length()), seconds(a.Asked.EndAt.Sub(a.Call.StartAt)), seconds(busy))
}
