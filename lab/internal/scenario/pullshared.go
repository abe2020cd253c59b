package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// pullShared pulls two pairs of images. The two images of a pair share a layer. The pulls of the first pair run one
// after the other. The pulls of the second pair run at the same time. In each pair, exactly one pull must download the
// shared layer.
func (p *pullRun) pullShared(ctx context.Context) error {
	for _, s := range []struct {
		first, second string
		atOnce        bool
	}{{"shares-1", "shares-2", false}, {"shares-3", "shares-4", true}} {
		images, err := p.pushSharing(ctx, s.first, s.second)
		if err != nil {
			return err
		}
		cases := []pullCase{plainCase(s.first, images[0], agent.Downloaded), plainCase(s.second, images[1],
			agent.Downloaded)}
		if !s.atOnce {
			for _, c := range cases {
				if err := p.carryOut(ctx, c); err != nil {
					return err
				}
			}
			continue
		}
		if err := p.atOnce(ctx, cases); err != nil {
			return err
		}
	}
	return nil
}

// pushSharing pushes images that share one large layer. The registry sends the pushed images slowly.
func (p *pullRun) pushSharing(ctx context.Context, names ...string) (images []string, err error) {
	layers, err := image.RandomLayers(pullLayer, pullLayer/8, pullLayer/8)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		reference, err := p.bench.ImageOf(ctx, name, []v1.Layer{layers[0], layers[1+i]}...)
		if err != nil {
			return nil, err
		}
		images = append(images, reference)
		if err := p.bench.Break(ctx, name, registry.Rule{BytesPerSecond: slowPull}); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// atOnce starts the pods at the same time. For each agent, atOnce adds the reported bytes of all pulls, and compares
// this total with the bytes that the registry sent. If two concurrent pulls need the same layer, the node's content
// store decides which pull downloads the layer.
func (p *pullRun) atOnce(ctx context.Context, cases []pullCase) error {
	all, together := errgroup.WithContext(ctx)
	for _, c := range cases {
		all.Go(func() error { return p.start(together, c) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, j := range p.judges {
		if err := j.judgeAtOnce(ctx, cases); err != nil {
			return err
		}
	}
	return nil
}

func (j *pullJudge) judgeAtOnce(ctx context.Context, cases []pullCase) error {
	var pulls []sharingPull
	for _, c := range cases {
		timeline, err := j.judgedTimeline(ctx, c)
		if err != nil {
			return err
		}
		c.mayShare = true
		if err := j.judgePulls(ctx, c, timeline); err != nil {
			return err
		}
		attempts, err := j.attemptsOf(ctx, c.pod, c.wants[0])
		if err != nil {
			return err
		}
		p := sharingPull{pod: c.pod}
		for _, a := range attempts {
			p.blobs, p.sent = p.blobs+a.BlobBytes, p.sent+a.Bytes
			p.hidden = p.hidden || !j.showsDownload(a)
		}
		if pull, there := timeline.PullOf(mainName); there {
			p.reported = pull.Download
		}
		pulls = append(pulls, p)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.judgeSharedBytes(pulls)
	return nil
}

// sharingPull is one of several concurrent pulls of images that share a layer.
type sharingPull struct {
	pod      string
	sent     int64           // all bytes that the registry sent for this image
	blobs    int64           // bytes of the image's configuration and layers that containerd downloaded
	hidden   bool            // the runtime's stores do not show the download
	reported *agent.Download // nil if the agent does not report the download
}

// judgeSharedBytes adds the reported bytes of all pulls, and compares this total with the bytes that the registry sent.
// No evidence shows which pull downloaded the shared layer, so the agent is allowed to count this layer for any pull
// that it reports. If the agent lacks a source, or if the runtime's stores do not show a download, the agent is allowed
// to omit the bytes of some pulls. If the stores do not show a download and the agent omits some pulls, the bytes of
// each reported pull must be complete. These bytes must include all layers that containerd downloaded for this pull.
func (j *pullJudge) judgeSharedBytes(pulls []sharingPull) {
	const besides = 16 << 10 // maximum size of an image's configuration, which the agent need not count
	var pods []string
	var reported, blobs, sent int64
	complete, kept := true, true
	for _, p := range pulls {
		kept = kept && !p.hidden
		pods, blobs, sent = append(pods, p.pod), blobs+p.blobs, sent+p.sent
		if p.reported == nil {
			complete = false
			continue
		}
		reported += p.reported.Bytes
	}
	if reported > sent || (complete || j.sources.isFull() && kept) && reported < blobs-besides*int64(len(pulls)) {
		j.verdict.Problem("%s: the registry sent %d bytes, including %d for layers and configuration; the agent "+
			"reports %d", strings.Join(pods, " and "), sent, blobs, reported)
	}
	for _, p := range pulls {
		if !kept && !complete && p.reported != nil && p.reported.Bytes < p.blobs-besides {
			j.verdict.Problem("%s: the registry sent %d bytes for layers and configuration; the agent reports only %d",
				p.pod, p.blobs, p.reported.Bytes)
		}
	}
}

// pullSame starts five pods with the same image at the same time. One pull downloads the image. The other four pulls
// use this download (outcome "joined").
func (p *pullRun) pullSame(ctx context.Context, how string) error {
	const count = 5
	reference, err := p.pushColdImage(ctx, "same-"+how)
	if err != nil {
		return err
	}
	if err := p.bench.Break(ctx, "same-"+how, registry.Rule{BytesPerSecond: slowPull}); err != nil {
		return err
	}
	all, together := errgroup.WithContext(ctx)
	pods := make([]string, count)
	for i := range pods {
		pods[i] = fmt.Sprintf("same-%s-%d", how, i+1)
		all.Go(func() error {
			spec := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: reference}}}
			if err := p.bench.CreatePod(together, pods[i], spec); err != nil {
				return err
			}
			return p.bench.AwaitReady(together, pods[i], caseLimit)
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, j := range p.judges {
		if err := j.judgeSame(ctx, how, reference, pods); err != nil {
			return err
		}
	}
	return nil
}

func (j *pullJudge) judgeSame(ctx context.Context, how, reference string, pods []string) error {
	serial := how == "serial"
	timelines := make(map[string]agent.Timeline)
	for _, pod := range pods {
		timeline, err := j.settledTimeline(ctx, pod)
		if err != nil {
			return err
		}
		timelines[pod] = timeline
	}
	// Attempts of all pods, in the order in which the attempts ended.
	attempts, err := j.collector.Attempts(ctx, reference)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(attempts) != len(pods) {
		j.verdict.Problem("same %s: the kubelet pulled %d times for %d pods, want one pull for each pod: the "+
			"scenario is not conclusive", how,
			len(attempts), len(pods))
		return nil
	}
	downloads := 0
	for i, a := range attempts {
		want := wantedPull{container: mainName, image: reference, outcome: agent.Joined}
		pull, there := timelines[a.Pod].PullOf(mainName)
		if !there {
			j.verdict.Problem("%s: the agent reports no pull of this pod, want one", a.Pod)
			continue
		}
		if pull.Outcome == agent.Downloaded {
			downloads++
		}
		if serial && i == 0 || !serial && pull.Outcome == agent.Downloaded {
			// if pulls are concurrent, the node's content store decides which pull downloads the image
			want.outcome = agent.Downloaded
		}
		j.judgeWords(a.Pod, want, want.outcome, pull)
		log, err := j.runtimeLog(timelines[a.Pod])
		if err != nil {
			return err
		}
		near := neighborInstants{log.SandboxReadyAt, log.RunningAt[mainName]} // the pod has only one container
		j.judgeLengths(a.Pod, a, near, pull)
		j.going = append(j.going, realPull{pod: a.Pod, container: mainName, image: reference, outcome: agent.Pulling,
			span: bench.Span{StartAt: a.RequestedAt, EndAt: a.ReportedAt}, called: a.Call.Span})
		j.judgeBlocker(a, attempts, near, pull)
		j.verdict.Contract(timelines[a.Pod])
	}
	if downloads > 1 || downloads == 0 && j.sources.isFull() {
		j.verdict.Problem("same %s: the pull of exactly one pod downloaded the image, but the agent reports a "+
			"download for %d pods", how,
			downloads)
	}
	return nil
}

// judgeBlocker checks the agent's report about a queued pull. The report must name the pull that blocked the queued
// pull.
func (j *pullJudge) judgeBlocker(waited bench.Attempt, all []bench.Attempt, near neighborInstants, pull agent.Pull) {
	const long = time.Second
	queue := waited.Call.StartAt.Sub(waited.RequestedAt)
	by := pull.BlockedBy
	if by == nil {
		if queue > long && j.sources.isFull() {
			j.verdict.Problem("%s: the pull waited %s in the queue, but the agent does not name the pull that "+
				"blocked it", waited.Pod,
				seconds(queue))
		}
		return
	}
	if length, err := agent.Nanoseconds(by.Seconds); err != nil ||
		length > queue+j.tolerance(waited.Pod+" blocker", pull.Error, waited, j.sources.largestError(waited, near)) {
		j.verdict.Problem("%s: the pull waited %s in the queue, but the agent reports a wait of %q s for pod %s",
			waited.Pod, seconds(queue),
			by.Seconds, by.Pod)
	}
	for _, other := range all {
		before := other.Call.StartAt.Before(waited.Call.StartAt) && other.Call.EndAt.After(waited.RequestedAt)
		if other.Pod == by.Pod && other.Pod != waited.Pod && before {
			return
		}
	}
	j.verdict.Problem("%s: the agent reports a wait for a pull of %s/%s, but no pull of this pod ran during "+
		"the wait", waited.Pod, by.Namespace, by.Pod)
}
