package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/metrics"
)

// The sizes of the layers, in bytes.
const (
	lazySize     = 64 << 20
	ordinarySize = 8 << 20
)

// lazyCase is a pull on a node with a lazy snapshotter. Such a snapshotter can mount a layer before the layer's content
// arrives. The scenario compares the agent's report with the registry's log and containerd's log.
type lazyCase struct {
	pod      string
	mounted  bool // true if the image has a layer that the snapshotter mounts
	ordinary int  // size in bytes of the layer that the runtime downloads itself; 0 if there is no such layer
	// below is true if the ordinary layer is below the mounted layer. When the runtime reaches an ordinary layer, it
	// starts to download this layer and all layers above it. For each layer above the ordinary layer, the runtime
	// starts the download before it asks the snapshotter about the layer.
	below    bool
	attempt  bench.Attempt
	timeline agent.Timeline
	// increases of the agent's counters during the pull
	countedBytes, countedSized float64
}

// The scenario "lazy-pull" pulls four images on a node with the snapshotter stargz. The first image has a large layer
// that the snapshotter mounts. The second image has an ordinary layer instead, which the runtime downloads itself. The
// other two images have layers of both kinds. The pull of a mounted layer is short, because almost all content of the
// layer arrives after the pull. Therefore, the agent must not compare the size of the layer with the duration of the
// pull. For the same reason, the agent must not report that the runtime was unpacking.
func lazyPull(ctx context.Context, b *bench.Bench, v *Verdict) error {
	if !b.Node.Stack.Containerd.Stargz {
		return errors.New("this scenario requires a lazy snapshotter: run \"make down\", and then \"make up STACK=" +
			"stargz\"")
	}
	pulls, err := b.CollectPulls()
	if err != nil {
		return err
	}
	for _, c := range []lazyCase{
		{pod: "lazy", mounted: true},
		{pod: "ordinary", ordinary: ordinarySize},
		{pod: "mixed", mounted: true, ordinary: ordinarySize},
		{pod: "mixed-below", mounted: true, ordinary: ordinarySize, below: true},
	} {
		if err := c.startAndCollect(ctx, b, pulls); err != nil {
			return err
		}
		c.judge(v)
	}
	return nil
}

// startAndCollect starts a pod with the case's image. Then it collects the independent logs of the pull, and the
// agent's report.
func (c *lazyCase) startAndCollect(ctx context.Context, b *bench.Bench, pulls *bench.PullCollector) error {
	reference, err := c.push(ctx, b)
	if err != nil {
		return err
	}
	before, err := b.Agent.Metrics(ctx)
	if err != nil {
		return err
	}
	err = b.CreatePod(ctx, c.pod, corev1.PodSpec{Containers: []corev1.Container{
		bench.MainContainer(mainName, reference, time.Second)}})
	if err != nil {
		return err
	}
	if err := b.AwaitReady(ctx, c.pod, time.Minute); err != nil {
		return err
	}
	if c.timeline, err = b.AwaitSettled(ctx, c.pod); err != nil {
		return err
	}
	after, err := b.Agent.Metrics(ctx)
	if err != nil {
		return err
	}
	if c.countedBytes, err = increase(before, after, "podlapse_image_pull_bytes_total"); err != nil {
		return err
	}
	if c.countedSized, err = increase(before, after, "podlapse_image_pulls_sized_total"); err != nil {
		return err
	}
	attempts, err := pulls.Attempts(ctx, reference)
	if err != nil {
		return err
	}
	if len(attempts) != 1 {
		return fmt.Errorf("image %s: got %d pulls, want 1", reference, len(attempts))
	}
	c.attempt = attempts[0]
	return nil
}

func (c *lazyCase) push(ctx context.Context, b *bench.Bench) (string, error) {
	lazy := func(base v1.Image) (v1.Image, error) { return image.WithLazyLayer(base, lazySize) }
	ordinary := func(base v1.Image) (v1.Image, error) {
		layer, err := image.RandomLayer(c.ordinary)
		if err != nil {
			return nil, err
		}
		return image.WithLayers(base, layer)
	}
	var steps []func(v1.Image) (v1.Image, error)
	if c.mounted {
		steps = append(steps, lazy)
	}
	if c.ordinary > 0 {
		steps = append(steps, ordinary)
	}
	if c.below {
		slices.Reverse(steps)
	}
	return b.ImageFrom(ctx, c.pod, func(built v1.Image) (v1.Image, error) {
		for _, step := range steps {
			var err error
			if built, err = step(built); err != nil {
				return nil, err
			}
		}
		return built, nil
	})
}

func increase(before, after, name string) (float64, error) {
	from, err := metrics.Sum(before, name)
	if err != nil {
		return 0, err
	}
	to, err := metrics.Sum(after, name)
	return to - from, err
}

// judge compares the agent's report about the pull with the independent logs.
func (c *lazyCase) judge(v *Verdict) {
	v.Contract(c.timeline)
	v.requireDownload(c.timeline, mainName)
	pull, _ := c.timeline.PullOf(mainName)
	truth := c.attempt.Call.Length()
	v.Note("%s: the pull took %s s, and containerd downloaded %d bytes of configuration and layers", c.pod,
		seconds(truth), c.attempt.BlobBytes)
	measured, err := agent.Nanoseconds(pull.PullSeconds)
	v.Compare(c.pod+" pull", truth.Round(100*time.Millisecond), truth, measured, err == nil, exact)
	c.judgeReport(pull, v)
}

// judgeReport checks the agent's report about the pull. judgeReport does not check the reported duration of the pull.
func (c *lazyCase) judgeReport(pull agent.Pull, v *Verdict) {
	if most := int64(c.ordinary) + lazySize/4; c.attempt.BlobBytes > most && !c.below {
		v.Problem("%s: containerd downloaded %d bytes, want at most %d: the pull was not lazy, and the "+
			"scenario is not conclusive", c.pod, c.attempt.BlobBytes, most)
	}
	if pull.Lazy != c.mounted {
		v.Problem("%s: the snapshotter mounted a layer: %t, but the agent reports %t", c.pod, c.mounted, pull.Lazy)
	}
	// The timeline's verdict names only the longest phases. If content arrives while the container runs, it arrives in
	// a phase of at least a second, so the verdict names this phase.
	loading := slices.ContainsFunc(c.timeline.Phases, func(p agent.Phase) bool { return p.ImageLoading })
	if loading != c.mounted || strings.Contains(c.timeline.Verdict, "may still be loading") != c.mounted {
		v.Problem("%s: content can arrive while the container runs: %t, but the agent reports image_loading %t and "+
			"the verdict %q", c.pod, c.mounted, loading, c.timeline.Verdict)
	}
	c.judgeBytes(pull, v)
	c.judgeUnpacking(pull, v)
}

// judgeBytes checks the bytes and the rate that the agent reports. The agent must count only bytes that arrived. The
// agent must report a rate only if all bytes arrived during the pull. If the ordinary layer is below the mounted layer,
// the agent is allowed to omit the bytes, because the runtime starts the download of the mounted layer and then cancels
// it.
func (c *lazyCase) judgeBytes(pull agent.Pull, v *Verdict) {
	var download agent.Download
	if pull.Download != nil {
		download = *pull.Download
	}
	if c.mounted && (pull.Sized || download.Rate > 0 || c.countedSized > 0) {
		v.Problem("%s: the agent compares %d bytes with the duration of the pull, but the content of a layer arrives "+
			"later: rate %d, sized %t, counted %g", c.pod, download.Bytes, download.Rate, pull.Sized, c.countedSized)
	}
	if !c.mounted && (!pull.Sized || download.Rate == 0) {
		v.Problem("%s: all bytes arrived during the pull, but the agent reports no rate", c.pod)
	}
	if download.Bytes > c.attempt.BlobBytes || c.countedBytes > float64(c.attempt.BlobBytes) {
		v.Problem("%s: the registry sent %d bytes of layers, but the agent reports %d bytes and counts %g", c.pod,
			c.attempt.BlobBytes, download.Bytes, c.countedBytes)
	}
	if download.Bytes < int64(c.ordinary) && !(c.below && pull.Download == nil) {
		v.Problem("%s: the runtime downloaded a layer of %d bytes, but the agent reports %d bytes", c.pod, c.ordinary,
			download.Bytes)
	}
}

// judgeUnpacking checks the phase "unpack". With this phase, the agent names the disk as the cause. The agent may
// report this phase only for an ordinary layer, and only for the time after the last byte.
func (c *lazyCase) judgeUnpacking(pull agent.Pull, v *Verdict) {
	unpacking, _, err := c.timeline.In("unpack", mainName)
	if err != nil {
		v.Problem("%s: %v", c.pod, err)
	}
	most := time.Duration(0)
	if c.ordinary > 0 {
		most = c.attempt.Unpacked() + exact
	}
	if c.ordinary == 0 && pull.Unpack != nil || unpacking > most {
		v.Problem("%s: the agent reports %s s in the phase unpack, but the disk was unpacking for at most %s s",
			c.pod, seconds(unpacking), seconds(most))
	}
}
