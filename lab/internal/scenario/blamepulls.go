package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// examLayer is the usual layer size of the exam's images. examRate is the download rate of a slow registry.
const (
	examLayer = 1 << 20   // bytes
	examRate  = 256 << 10 // bytes per second
)

// pullInParallel makes the kubelet pull images in parallel. Some examRows need this setting, because their pulls must
// not wait for other pulls. pullInParallel also starts a second registry, which runs until the end of the exam.
func pullInParallel(ctx context.Context, e *exam) error {
	images, control := layout.Address(layout.MirrorPort), layout.Address(layout.MirrorControl)
	mirror := registry.Client{Address: control}
	go func() { // this goroutine runs until ctx ends
		_ = registry.Serve(ctx, e.bench.Node.In("mirror"), e.bench.Node.RegistryGuard(), control, images)
	}()
	err := e.bench.Node.Report.Wait(ctx, "the second registry", 10*time.Second, 50*time.Millisecond, mirror.Healthy)
	e.registries = append(e.registries, mirror)
	return errors.Join(err, e.bench.Node.PullInParallel(ctx, parallelPulls))
}

// pullRows returns examRows (start-ups) in which an image pull is slow or fails.
func pullRows(long func() time.Duration) []examRow {
	slow := func(rule registry.Rule) playFunc {
		return func(ctx context.Context, x *examPod) error {
			image, err := x.pushCold(ctx, mainName, examLayer)
			return errors.Join(err, x.bench().Break(ctx, x.imageOf(mainName), rule), x.start(ctx, onePod(image,
				readySoon)))
		}
	}
	refused := func(status int) playFunc {
		return func(ctx context.Context, x *examPod) error {
			image, err := x.pushCold(ctx, mainName, examLayer)
			err = errors.Join(err, x.bench().Break(ctx, x.imageOf(mainName), registry.Rule{Status: status}),
				x.create(ctx, onePod(image, readySoon)), x.awaitPulling(ctx, mainName, 1), sleep(ctx, long()))
			return errors.Join(err, x.bench().Repair(ctx, x.imageOf(mainName)), x.awaitReady(ctx))
		}
	}
	return []examRow{
		{"slow-registry", "the registry is slow: registry", slow(registry.Rule{BytesPerSecond: examRate})},
		{"stalling-registry", "the registry stalls during the download: registry",
			slow(registry.Rule{Kind: registry.KindBlob,
				Stall: registry.Duration{Duration: long()}, StallAfterBytes: examLayer / 2, Times: configAndLayer})},
		{"late-manifest", "the registry responds late: registry", slow(registry.Rule{Kind: registry.KindManifest,
			Stall: registry.Duration{Duration: long()}, Times: 1})},
		{
			"cut-off",
			"the registry breaks off one download: registry, then back-off",
			slow(registry.Rule{Kind: registry.KindBlob,
				ResetAfterBytes: examLayer / 4 * 3, Times: configAndLayer}),
		},
		{"quota", "the registry responds with 429 at first: registry, then back-off",
			refused(http.StatusTooManyRequests)},
		{
			"server-error",
			"the registry responds with 500 at first: registry, then back-off",
			refused(http.StatusInternalServerError),
		},
		{
			"unauthorized",
			"the registry responds with 401 at first: registry, then back-off",
			refused(http.StatusUnauthorized),
		},
		{"forbidden", "the registry responds with 403 at first: registry, then back-off",
			refused(http.StatusForbidden)},
		{"not-found", "the registry responds with 404 at first: registry, then back-off", refused(http.StatusNotFound)},
		{"mirror", "the image comes from a slow mirror of an unreachable registry: registry", fromMirror(true)},
		{"broken-mirror", "the mirror lacks the image and the registry behind it is slow: registry", fromMirror(false)},
		{"twelve-containers", "twelve containers with cold images: registry", twelveContainers},
		{"tls", "an unknown authority signed the registry's certificate: registry, then back-off",
			neverComes(long, func(x *examPod) (string, error) {
				server := "https://" + layout.Address(layout.APIServerPort)
				return x.bench().Host(x.name) + "/image:1", x.bench().ReachHost(x.name, server)
			})},
		{"dns", "the registry's name cannot be resolved: registry, then back-off",
			neverComes(long, func(*examPod) (string, error) { return unresolvable + "/image:1", nil })},
		{"connection-refused", "the registry does not listen: registry, then back-off",
			neverComes(long, func(*examPod) (string, error) { return "127.0.0.1:1/image:1", nil })},
	}
}

// neverComes runs a pod whose image cannot be pulled. After the start of the second pull attempt, neverComes waits for
// some seconds. Then it ends the period that the exam judges.
func neverComes(long func() time.Duration, reference func(x *examPod) (string, error)) playFunc {
	return func(ctx context.Context, x *examPod) error {
		image, err := reference(x)
		x.images[mainName] = image
		err = errors.Join(err, x.create(ctx, onePod(image, readySoon)), x.awaitPulling(ctx, mainName, 2), sleep(ctx,
			long()))
		x.giveUp()
		return err
	}
}

// unresolvable is a host name with a DNS label that is too long. The resolver rejects this name without a query, so the
// lab needs no DNS server.
const unresolvable = "nowherenowherenowherenowherenowherenowherenowherenowherenowherenowhere.invalid"

// fromMirror starts a pod whose image comes from a registry with a mirror. The argument "has" is true if the mirror has
// the image.
func fromMirror(has bool) playFunc {
	return func(ctx context.Context, x *examPod) error {
		b := x.bench()
		url := b.Node.RegistryGuard().URL
		lab, mirror := layout.Address(layout.RegistryPort), layout.Address(layout.MirrorPort)
		name := x.imageOf(mainName)
		rule := registry.Rule{Repository: b.Namespace + "/" + name, BytesPerSecond: examRate}
		x.images[mainName] = b.Host(x.name) + "/" + b.Namespace + "/" + name + ":1"
		spec := onePod(x.images[mainName], readySoon)
		if has {
			return errors.Join(b.PushTo(ctx, name, examLayer, mirror), x.exam.registries[1].SetRules(ctx, rule),
				b.ReachHost(x.name, "http://127.0.0.1:1", url(mirror)), x.start(ctx, spec))
		}
		return errors.Join(b.PushTo(ctx, name, examLayer, lab), b.Break(ctx, name, rule),
			b.ReachHost(x.name, url(lab), url(mirror)), x.start(ctx, spec))
	}
}

func twelveContainers(ctx context.Context, x *examPod) error {
	const count, layer = 12, 128 << 10
	var spec corev1.PodSpec
	for i := range count {
		name := fmt.Sprintf("c%d", i+1)
		image, err := x.pushCold(ctx, name, layer)
		err = errors.Join(err, x.bench().Break(ctx, x.imageOf(name), registry.Rule{BytesPerSecond: examRate}))
		if err != nil {
			return err
		}
		spec.Containers = append(spec.Containers, corev1.Container{Name: name, Image: image})
	}
	return x.start(ctx, spec)
}

// linkedPulls is the number of images that are pulled over one link at the same time.
const linkedPulls = 8

// shareLink limits the combined download rate of the images in the examRows that linkRows returns.
func shareLink(ctx context.Context, e *exam) error {
	return e.bench.Break(ctx, "linked-*", registry.Rule{BytesPerSecond: 1 << 20, Shared: true})
}

// linkRows returns examRows with one pod each. The node pulls the images of all these pods at the same time over one
// slow link.
func linkRows() []examRow {
	var rows []examRow
	for i := range linkedPulls {
		rows = append(
			rows,
			examRow{fmt.Sprintf("linked-%d", i+1), "eight images are pulled at once over one slow link: registry",
				func(ctx context.Context, x *examPod) error {
					image, err := x.pushCold(ctx, mainName, examLayer)
					return errors.Join(err, x.start(ctx, onePod(image, readySoon)))
				}},
		)
	}
	return rows
}
