package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/browser"
	"github.com/podlapse/podlapse/lab/internal/page"
)

// judgeWaterfalls compares the waterfalls of the ready pods with the data of the API.
func (p *pageRun) judgeWaterfalls(ctx context.Context) error {
	for _, pod := range append([]string{cachedPod}, p.shop...) {
		if err := p.judgeWaterfall(ctx, pod); err != nil {
			return err
		}
	}
	p.verdict.Compared++
	if p.cold == "" {
		p.verdict.Problem("no pull has layers, want at least one: without layers, the scenario cannot check the " +
			"waterfall of a pull")
	}
	return nil
}

func (p *pageRun) judgeWaterfall(ctx context.Context, pod string) error {
	timeline, err := p.bench.Agent.Timeline(ctx, p.bench.Namespace, pod)
	if err != nil {
		return err
	}
	if err := p.follow("#/pods/" + p.bench.Namespace + "/" + pod); err != nil {
		return err
	}
	shown := fmt.Sprintf(
		`document.querySelector('.pod-title h1')?.textContent === %q &&
			document.querySelectorAll('.wf-rows > .wf-phase').length === %d`, pod, len(timeline.Phases))
	if err := p.tab.Await("the waterfall of pod "+pod, shown, pageWait); err != nil {
		return err
	}
	bars, err := page.Bars(p.tab)
	if err != nil {
		return err
	}
	total, err := agent.Nanoseconds(timeline.TotalSeconds)
	if err != nil {
		return err
	}
	at := time.Duration(0)
	for i, phase := range timeline.Phases {
		length, err := agent.Nanoseconds(phase.Seconds)
		if err != nil {
			return err
		}
		bound, err := agent.Nanoseconds(phase.Error)
		if err != nil {
			return err
		}
		want := page.Bar{
			Name: strings.Join(append([]string{phase.Phase}, phase.MergedWith...), " + "), Container: phase.Container,
			Length: shownSeconds(length), Error: "±" + shownSeconds(bound),
			Cause: strings.ReplaceAll(phase.Cause, "_", " "),
			From:  at.Seconds() / total.Seconds(), To: (at + length).Seconds() / total.Seconds(),
		}
		at += length
		p.judgeBar(pod, bars[i], want)
	}
	return errors.Join(p.judgeHelp(timeline), p.judgePull(timeline))
}

// The API lists changes that could shorten the start-up. judgeHelp requires that the page lists the first changes of
// the API's list, but at most three.
func (p *pageRun) judgeHelp(timeline agent.Timeline) error {
	shown, err := browser.Eval[[]string](p.tab, page.Help)
	if err != nil {
		return err
	}
	want := slices.Concat(timeline.WhatIf, timeline.WhatIfUnknown)
	want = want[:min(len(want), 3)]
	p.verdict.Compared++
	if !slices.EqualFunc(shown, want, func(text string, change agent.WhatIf) bool {
		return strings.HasPrefix(text, change.Text+": ")
	}) {
		p.verdict.Problem("pod %s: the page lists %q under \"What would help\", but the API has %+v", timeline.Name,
			shown, want)
	}
	if len(shown) > 0 {
		p.helped = timeline.Name
	}
	return nil
}

func (p *pageRun) judgeBar(pod string, got, want page.Bar) {
	// within is the largest accepted difference, as a share of the axis. A smaller limit would fail, because every bar
	// is at least two pixels wide.
	const within = 0.01
	p.verdict.Compared++
	if math.Abs(got.From-want.From) > within || math.Abs(got.To-want.To) > within {
		p.verdict.Problem("pod %s: the bar of %s %s extends from %.3f to %.3f of the axis, want %.3f to %.3f", pod,
			want.Name, want.Container, got.From, got.To, want.From, want.To)
	}
	got.From, got.To = want.From, want.To
	if got != want {
		p.verdict.Problem("pod %s: the page shows %+v, but the API has %+v", pod, got, want)
	}
}

// judgePull requires that the detail box at the pointer shows the details of the phase "pull". The page must also show
// the layers of the pull.
func (p *pageRun) judgePull(timeline agent.Timeline) error {
	i := slices.IndexFunc(timeline.Phases, func(phase agent.Phase) bool { return phase.Phase == "pull" })
	if i < 0 {
		return nil
	}
	phase := timeline.Phases[i]
	length, err := agent.Nanoseconds(phase.Seconds)
	if err != nil {
		return err
	}
	row := fmt.Sprintf(`document.querySelectorAll('.wf-rows > .wf-phase')[%d]`, i)
	reported, err := browser.Eval[string](p.tab,
		`(`+row+`.dispatchEvent(new PointerEvent('pointerover', { bubbles: true })), `+page.Detail+`)`)
	if err != nil {
		return err
	}
	p.verdict.Compared++
	if !strings.Contains(reported, shownSeconds(length)) || !strings.Contains(reported, "registry") {
		p.verdict.Problem("pod %s: the box of the phase \"pull\" must show %s and the registry, but shows %q",
			timeline.Name, shownSeconds(length), reported)
	}
	j := slices.IndexFunc(timeline.Pulls, func(pull agent.Pull) bool { return pull.Container == phase.Container })
	if j < 0 || len(timeline.Pulls[j].Layers) == 0 {
		return nil
	}
	p.cold = timeline.Name
	layers, err := browser.Eval[int](p.tab,
		`(`+row+`.click(),
			new Promise((resolve) => setTimeout(() => resolve(document.querySelectorAll('.wf-layer').length), 300)))`)
	if err != nil {
		return err
	}
	p.verdict.Compared++
	if layers != len(timeline.Pulls[j].Layers) {
		p.verdict.Problem("pod %s: the page shows %d layers, but the API has %d", timeline.Name, layers,
			len(timeline.Pulls[j].Layers))
	}
	return nil
}

func shownSeconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// judgeAddresses opens addresses in new tabs, like a user who received a link.
func (p *pageRun) judgeAddresses(context.Context) error {
	pod := p.shop[0]
	for address, names := range map[string][]string{
		"#/?q=" + p.bench.Namespace + "+" + pod:         {pod},
		"#/?q=" + p.bench.Namespace + "&state=starting": {stuckPod},
		// The application causes most of this pod's start-up time.
		"#/?q=" + p.bench.Namespace + "&cause=app&state=ready&sort=took":      {cachedPod},
		"#/?q=" + p.bench.Namespace + "+deployment/shop&state=ready&sort=pod": slices.Sorted(slices.Values(p.shop)),
	} {
		tab, err := p.browser.Open(browser.Look{Width: deskWidth, Height: deskHeight})
		if err != nil {
			return err
		}
		err = tab.Go(p.bench.Agent.Server + "/" + address)
		if err == nil {
			err = tab.Await("the rows at "+address,
				fmt.Sprintf(`document.querySelectorAll('.rows > a.row:not([hidden])').length === %d`, len(names)),
				pageWait)
		}
		rows, rowsErr := page.Rows(tab)
		complaints := tab.Complaints()
		tab.Close()
		if err != nil || rowsErr != nil {
			p.verdict.Problem("address %s must show the pods %v: %v, %v", address, names, err, rowsErr)
			continue
		}
		p.verdict.Compared++
		for i, row := range rows {
			if row.Name != names[i] {
				p.verdict.Problem("row %d of %s is pod %s, want %s", i, address, row.Name, names[i])
			}
		}
		if len(complaints) > 0 {
			p.verdict.Problem("at %s, the browser must report no errors, but reports: %v", address, complaints)
		}
	}
	return nil
}
