package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// pullCase describes one pod, the fault that affects the pull of its image, and the expected report of the agent.
type pullCase struct {
	pod   string
	spec  corev1.PodSpec
	wants []wantedPull
	// failures is the number of failed pulls before the function "repair" ends the fault. Zero means that no pull
	// fails. If failures is positive and repair is nil, every pull of the image fails.
	failures int
	repair   func(context.Context) error
	// cutOff is true if the fault interrupts a download. The registry's log must then contain this interruption. The
	// next attempt reuses the content that arrived before the interruption.
	cutOff bool
	// storedBefore is true if the first attempt fails, but the runtime already stores the image's name during this
	// attempt. Then the name in the runtime's stores does not show which attempt stored the layers.
	storedBefore bool
	// mayShare is true if several pulls need the same layers. Any of these pulls can download the shared layers.
	mayShare bool
	// slowPlugin is true if a slow credential provider plugin delays the pull of the first image.
	slowPlugin bool
	atLeast    time.Duration               // minimum duration of the pull
	neighbors  func(context.Context) error // function that runs while the pod starts, or nil
}

// wantedPull is the expected report of the agent about one image of a pod.
type wantedPull struct {
	container string // name of the container, or image:REFERENCE for an image volume
	image     string
	before    string   // the container's image until the repair; empty if the repair does not change the image
	outcome   string   // outcome of the last attempt
	failures  []string // possible reasons for a failed attempt
}

// firstImage returns the image that the kubelet pulls first.
func (w wantedPull) firstImage() string { return cmp.Or(w.before, w.image) }

// kubeletsName returns the name of the container in the kubelet's Events. kubeletsName returns an empty string for an
// image volume.
func (w wantedPull) kubeletsName() string {
	if strings.HasPrefix(w.container, "image:") {
		return ""
	}
	return w.container
}

// The sizes of the images, and the rates at which the registry sends the images. The images are so small that
// unpacking takes almost no time. The rates are so low that the scenario can observe the pulls.
const (
	pullLayer    = 512 << 10       // bytes
	slowPull     = 256 << 10       // bytes per second
	stalledFor   = 2 * time.Second // duration of the stall in the middle of a layer
	backoffTries = 3               // number of failed pulls before the fault ends; the kubelet waits 10, 20 and 40 s
	backoffLimit = 3 * time.Minute // longest time until the kubelet's fourth attempt
	// configAndLayer limits a fault of the registry to two requests. The first request is for the image's
	// configuration, which is too small to trigger the fault. The second request is for the layer.
	configAndLayer = 2
	caseLimit      = 90 * time.Second // time limit for a pod with at most one failed pull
)

// createCases creates the images and returns three groups of cases. The case "backoff" fails several times. Each case
// in the group "failing" fails at least once. The cases in the group "alone" run one at a time.
func (p *pullRun) createCases(ctx context.Context) (backoff pullCase, failing, alone []pullCase, err error) {
	if backoff, err = p.refusedCase(ctx, "backoff", http.StatusNotFound, backoffTries, "not_found"); err != nil {
		return
	}
	statuses := []struct {
		status int
		class  string
	}{
		{http.StatusUnauthorized, "unauthorized"}, {http.StatusForbidden, "forbidden"},
		{http.StatusNotFound, "not_found"},
		{http.StatusTooManyRequests, "rate_limited"}, {http.StatusInternalServerError, "registry_error"},
	}
	for _, s := range statuses {
		c, err := p.refusedCase(ctx, fmt.Sprintf("status-%d", s.status), s.status, 1, s.class)
		if err != nil {
			return backoff, nil, nil, err
		}
		failing = append(failing, c)
	}
	for _, make := range []func(context.Context) (pullCase, error){p.caseWithReset, p.otherPlatformCase, p.unknownHost,
		p.noListener, p.changedImage} {
		c, err := make(ctx)
		if err != nil {
			return backoff, nil, nil, err
		}
		failing = append(failing, c)
	}
	for _, make := range []func(context.Context) ([]pullCase, error){
		p.coldAndAgain, p.byDigest, p.threeTimes, p.imageVolume, p.stalls, p.manyLayers, p.pluginCases} {
		cs, err := make(ctx)
		if err != nil {
			return backoff, nil, nil, err
		}
		alone = append(alone, cs...)
	}
	return backoff, failing, alone, nil
}

// plainCase returns a case with a pod that has one container.
func plainCase(pod, image, outcome string) pullCase {
	return pullCase{pod: pod, spec: corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: image}}},
		wants: []wantedPull{{container: mainName, image: image, outcome: outcome}}}
}

// failsFirst plans failed pulls for the case, and returns the case. The argument "failures" is the number of pulls
// that must fail. The argument "repair" is the function that ends the fault. The argument "classes" contains the
// possible reasons for a failed pull.
func (c pullCase) failsFirst(failures int, repair func(context.Context) error, classes ...string) pullCase {
	c.failures, c.repair = failures, repair
	c.wants[0].failures = classes
	return c
}

// pushColdImage pushes a small image that the node does not have.
func (p *pullRun) pushColdImage(ctx context.Context, name string) (string, error) {
	return p.bench.Image(ctx, name, pullLayer)
}

// coldAndAgain returns three cases with the same image. In the first case, the node pulls the image while a second
// client pulls a different image. In the second and third cases, the image is already on the node. The third case has
// the pull policy Always, so the kubelet verifies the image with the registry.
func (p *pullRun) coldAndAgain(ctx context.Context) ([]pullCase, error) {
	image, err := p.pushColdImage(ctx, "cold")
	if err != nil {
		return nil, err
	}
	foreign, err := p.pushColdImage(ctx, "foreign")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"cold", "foreign"} {
		if err := p.bench.Break(ctx, name, registry.Rule{BytesPerSecond: slowPull}); err != nil {
			return nil, err
		}
	}
	cold, cached, always := plainCase("cold", image, agent.Downloaded), plainCase("cached", image, agent.Present),
		plainCase("always", image, agent.Verified)
	always.spec.Containers[0].ImagePullPolicy = corev1.PullAlways
	cold.atLeast = pullLayer / slowPull * time.Second
	cold.neighbors = func(ctx context.Context) error {
		pulled, err := p.bench.Warm(ctx, foreign)
		for _, j := range p.judges {
			j.wasPulled(realPull{image: foreign, outcome: agent.External, span: pulled})
		}
		return err
	}
	return []pullCase{cold, cached, always}, nil
}

func (p *pullRun) byDigest(ctx context.Context) ([]pullCase, error) {
	image, err := p.bench.ImageByDigest(ctx, "digest", pullLayer)
	return []pullCase{plainCase("digest", image, agent.Downloaded)}, err
}

// threeTimes returns a case with the same image in three containers.
func (p *pullRun) threeTimes(ctx context.Context) ([]pullCase, error) {
	image, err := p.pushColdImage(ctx, "thrice")
	const sidecar = "sidecar"
	return []pullCase{{pod: "thrice", spec: corev1.PodSpec{
		InitContainers: []corev1.Container{bench.InitContainer(initName, image, 300*time.Millisecond),
			bench.Sidecar(sidecar, image)},
		Containers: []corev1.Container{{Name: mainName, Image: image}},
	}, wants: []wantedPull{
		{container: initName, image: image, outcome: agent.Downloaded},
		{container: sidecar, image: image, outcome: agent.Present},
		{container: mainName, image: image, outcome: agent.Present},
	}}}, err
}

// blobRequests returns the number of requests to which the registry applies a fault: see configAndLayer. Zero means
// that the registry applies the fault to all requests. The snapshotter stargz reads parts of a layer before containerd
// downloads the layer. With stargz, the number of requests is therefore unknown, and blobRequests returns zero.
func (p *pullRun) blobRequests() int {
	if p.bench.Node.Stack.Containerd.Stargz {
		return 0
	}
	return configAndLayer
}

func (p *pullRun) stalls(ctx context.Context) ([]pullCase, error) {
	image, err := p.pushColdImage(ctx, "stall")
	if err != nil {
		return nil, err
	}
	rule := registry.Rule{Kind: registry.KindBlob, Stall: registry.Duration{Duration: stalledFor},
		StallAfterBytes: pullLayer / 2, Times: p.blobRequests()}
	c := plainCase("stall", image, agent.Downloaded)
	c.atLeast = stalledFor
	return []pullCase{c}, p.bench.Break(ctx, "stall", rule)
}

// manyLayers returns a case whose image has sixty small layers above the base image.
func (p *pullRun) manyLayers(ctx context.Context) ([]pullCase, error) {
	sizes := slices.Repeat([]int{8 << 10}, 60)
	image, err := p.bench.ImageOfSizes(ctx, "layers", sizes...)
	return []pullCase{plainCase("layers", image, agent.Downloaded)}, err
}

// carryOut starts the pod and checks the reports of the agents. If the case has a function "repair", carryOut calls
// this function after the planned number of failed pulls.
func (p *pullRun) carryOut(ctx context.Context, c pullCase) error {
	if err := p.start(ctx, c); err != nil {
		return fmt.Errorf("case %q: %w", c.pod, err)
	}
	for _, j := range p.judges {
		timeline, err := j.judgedTimeline(ctx, c)
		if err != nil {
			return fmt.Errorf("case %q: %w", c.pod, err)
		}
		if err := j.judgePulls(ctx, c, timeline); err != nil {
			return fmt.Errorf("case %q: %w", c.pod, err)
		}
	}
	if c.endless() { // the kubelet would retry the pull forever
		return p.bench.DeletePod(ctx, c.pod)
	}
	return nil
}

func (p *pullRun) start(ctx context.Context, c pullCase) error {
	if err := p.bench.CreatePod(ctx, c.pod, c.spec); err != nil {
		return err
	}
	if c.neighbors != nil {
		if err := c.neighbors(ctx); err != nil {
			return err
		}
	}
	if c.failures > 0 {
		if err := p.awaitFailure(ctx, c); err != nil {
			return err
		}
	}
	if c.repair != nil {
		if err := c.repair(ctx); err != nil {
			return err
		}
	}
	if c.endless() {
		return nil
	}
	limit := caseLimit
	if c.failures > 1 {
		limit = backoffLimit
	}
	return p.bench.AwaitReady(ctx, c.pod, limit)
}

func (c pullCase) endless() bool { return c.failures > 0 && c.repair == nil }

// awaitFailure waits until the pull of the pod's image has failed as often as planned.
func (p *pullRun) awaitFailure(ctx context.Context, c pullCase) error {
	what := fmt.Sprintf("pod %s to fail %d times", c.pod, c.failures)
	return p.bench.Node.Report.Wait(ctx, what, 2*time.Minute, 200*time.Millisecond, func(context.Context) error {
		calls, err := p.collector.Runtime.Of(c.wants[0].firstImage())
		if err != nil {
			return err
		}
		if failures := bench.Failures(calls); failures < c.failures {
			return fmt.Errorf("the pull of image %s has failed %d times, want %d", c.wants[0].firstImage(), failures,
				c.failures)
		}
		return nil
	})
}

// judgedTimeline returns the agent's timeline of the pod. If the pod never becomes ready, judgedTimeline waits until
// the agent has observed a failure. For all other pods, judgedTimeline waits until the agent has reported the
// start-up.
func (j *pullJudge) judgedTimeline(ctx context.Context, c pullCase) (agent.Timeline, error) {
	if !c.endless() {
		return j.settledTimeline(ctx, c.pod)
	}
	var timeline agent.Timeline
	want := c.wants[0]
	err := j.bench.Node.Report.Wait(ctx, "the agent to observe pod "+c.pod, 5*time.Second, 100*time.Millisecond,
		func(ctx context.Context) error {
			var err error
			if timeline, err = j.agent.Agent.Timeline(ctx, j.bench.Namespace, c.pod); err != nil {
				return err
			}
			for _, pull := range timeline.PullsOf(want.container) {
				if pull.Outcome == agent.Failed {
					return nil
				}
			}
			return errors.New("the agent has not reported a failed pull of the pod yet")
		})
	if err != nil && ctx.Err() == nil && timeline.Name != "" {
		err = nil // later checks report that the timeline contains no failed pull
	}
	if err != nil {
		return timeline, err
	}
	return timeline, j.saveTimeline(timeline)
}
