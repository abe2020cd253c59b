package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/browser"
	"github.com/podlapse/podlapse/lab/internal/page"
	"github.com/podlapse/podlapse/lab/internal/prereq"
)

const (
	deskWidth, deskHeight   = 1280, 800
	phoneWidth, phoneHeight = 390, 844
)

// pageWait is the longest accepted time until the page shows received data. The page does not poll the agent. The agent
// sends the changes to the page in a stream. If the page misses a change, the page never shows this change. Therefore,
// a long limit cannot hide a missed change. On a busy machine, the browser once took more than 5 s.
const pageWait = 15 * time.Second

// showPage opens the agent's page in a real browser while pods start. Two pods of a Deployment have an image that the
// node must pull. One pod has an image that is already on the node, and one pod has an image that does not exist.
func showPage(ctx context.Context, b *bench.Bench, v *Verdict) error {
	if err := prereq.Browser(ctx, b.Node.Report); err != nil {
		return err
	}
	chromium, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	tab, err := chromium.Open(browser.Look{Width: deskWidth, Height: deskHeight, Dark: true})
	if err == nil {
		err = (&pageRun{bench: b, verdict: v, browser: chromium, tab: tab}).run(ctx)
	}
	return errors.Join(err, chromium.Close())
}

// pageRun is one run of the scenario with a browser.
type pageRun struct {
	bench   *bench.Bench
	verdict *Verdict
	browser *browser.Browser
	tab     *browser.Tab // page that was opened before the first pod was created; never reloaded
	shop    []string     // pods of the Deployment
	cold    string       // the pod that pulled the image
	helped  string       // a pod whose view has the list "What would help"; empty if there is no such pod

	comparison string // address of the view that compares two pods of the Deployment
}

// The names of the pods outside the Deployment.
const (
	cachedPod = "cart"
	stuckPod  = "checkout"
)

func (p *pageRun) run(ctx context.Context) error {
	if err := p.tab.Go(p.bench.Agent.Server + "/#/?q=" + p.bench.Namespace); err != nil {
		return err
	}
	if err := p.tab.Await("the page to be live", page.Live, pageWait); err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return err
	}
	for _, look := range []func(context.Context) error{
		p.judgeStarting, p.judgeReady, p.judgeWaterfalls, p.judgeAddresses, p.judgeLinks, p.judgeComparison,
		p.judgeWorkload, p.savePictures} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	p.judgeComplaints("in normal use")
	if err := page.Attack(p.tab); err != nil {
		p.verdict.Problem("the browser must enforce the page's content security policy: %v", err)
	}
	p.verdict.Compared++
	return p.bench.DeletePod(ctx, stuckPod) // the start-up of this pod would never end
}

func (p *pageRun) start(ctx context.Context) error {
	const layer, rate = 16 << 20, 4 << 20 // each pull takes four seconds
	cold, err := p.bench.Image(ctx, "shop", layer)
	if err != nil {
		return err
	}
	if err := p.bench.Throttle(ctx, rate); err != nil {
		return err
	}
	main := bench.MainContainer("shop", cold, 1500*time.Millisecond)
	main.ReadinessProbe.TimeoutSeconds = 1 // a longer timeout makes the probes' times too uncertain for a prediction
	p.shop, err = p.bench.CreateDeployment(ctx, "shop", 2, corev1.PodSpec{
		InitContainers: []corev1.Container{
			bench.InitContainer("migrate", p.bench.BaseImage, 800*time.Millisecond),
			bench.Sidecar("proxy", p.bench.BaseImage),
		},
		Containers: []corev1.Container{main},
	})
	return errors.Join(err,
		p.bench.CreatePod(ctx, cachedPod,
			corev1.PodSpec{Containers: []corev1.Container{
				bench.MainContainer("cart", p.bench.BaseImage, 12*time.Second)}}),
		p.bench.CreatePod(ctx, stuckPod,
			corev1.PodSpec{Containers: []corev1.Container{
				bench.MainContainer("checkout", p.bench.Reference("checkout"), time.Second)}}))
}

func (p *pageRun) pods() []string { return append([]string{cachedPod, stuckPod}, p.shop...) }

// judgeStarting requires that the page shows a row for each starting pod. The page must also list the pulls in
// progress with their downloads. The scenario does not reload the page.
func (p *pageRun) judgeStarting(context.Context) error {
	for _, pod := range p.pods() {
		err := p.tab.Await("the row of pod "+pod+", starting", page.HasRow(pod, agent.Starting), pageWait)
		if err != nil {
			return err
		}
		p.verdict.Compared++
	}
	if err := p.tab.Await("the stuck pod's reason",
		`document.querySelector('.rows').innerText.includes('ErrImagePull') ||
			document.querySelector('.rows').innerText.includes('ImagePullBackOff')`, 2*pageWait); err != nil {
		return err
	}
	if err := p.savePicture("starting"); err != nil {
		return err
	}
	if err := p.follow("#/pulls"); err != nil {
		return err
	}
	if err := p.tab.Await("the page to show the pull",
		`document.querySelector('.pulling').innerText.includes('/shop:')`, 2*pageWait); err != nil {
		return err
	}
	return errors.Join(p.savePicture("pulling"), p.judgeDownloads(), p.follow("#/?q="+p.bench.Namespace))
}

// judgeReady requires that the row of each pod, except the stuck pod, changes to ready. Then the page must list the
// stuck pod first, and the ready pods after it.
func (p *pageRun) judgeReady(ctx context.Context) error {
	for _, pod := range append([]string{cachedPod}, p.shop...) {
		if err := p.bench.AwaitReady(ctx, pod, time.Minute); err != nil {
			return err
		}
		if err := p.tab.Await("the row of pod "+pod+", ready", page.HasRow(pod, agent.Ready), pageWait); err != nil {
			return err
		}
		if _, err := p.bench.AwaitSettled(ctx, pod); err != nil {
			return err
		}
	}
	rows, err := page.Rows(p.tab)
	if err != nil {
		return err
	}
	p.verdict.Compared++
	if len(rows) != len(p.pods()) || rows[0].Name != stuckPod || rows[0].State != agent.Starting {
		p.verdict.Problem("the page must list the stuck pod first and then the three ready pods, but shows %+v", rows)
	}
	p.verdict.Note("the page shows for the stuck pod: %q", rows[0].Verdict)
	return p.savePicture("started")
}

// follow navigates to a fragment of the address, like a link in the page.
func (p *pageRun) follow(fragment string) error {
	_, err := browser.Eval[int](p.tab, fmt.Sprintf("(location.hash = %q, 0)", fragment))
	return err
}

func (p *pageRun) judgeComplaints(when string) {
	p.verdict.Compared++
	for _, complaint := range p.tab.Complaints() {
		p.verdict.Problem("%s, the browser must report no errors, but reports: %s", when, complaint)
	}
}

// savePicture saves a picture of the tab in the directory of the scenario's files.
func (p *pageRun) savePicture(name string) error { return p.savePictureAs(p.tab, name, false) }

func (p *pageRun) savePictureAs(tab *browser.Tab, name string, whole bool) error {
	if err := os.MkdirAll(keptIn(p.bench), 0o700); err != nil {
		return fmt.Errorf("save a picture: %w", err)
	}
	path := filepath.Join(keptIn(p.bench), name+".png")
	p.verdict.Note("picture: %s", path)
	return tab.Picture(path, whole)
}
