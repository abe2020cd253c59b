package scenario

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/browser"
	"github.com/podlapse/podlapse/lab/internal/page"
)

// judgeLinks starts at the page of the pod that pulled the image. From the pod's page, judgeLinks follows the links to
// the pod's workload and to the registry. Then judgeLinks follows the link from the registry to its pods.
func (p *pageRun) judgeLinks(context.Context) error {
	if err := p.follow("#/pods/" + p.bench.Namespace + "/" + p.cold); err != nil {
		return err
	}
	if err := p.clickVisible("the link to the workload", `.pod-view .facts a`); err != nil {
		return err
	}
	if err := p.tab.Await("the pods of the workload", fmt.Sprintf(
		`location.hash.startsWith('#/?owner=') && document.querySelectorAll('.rows > a.row:not([hidden])').length `+
			`=== %d`,
		len(p.shop)), pageWait); err != nil {
		return err
	}
	rows, err := page.Rows(p.tab)
	if err != nil {
		return err
	}
	p.verdict.Compared++
	for _, row := range rows {
		if !slices.Contains(p.shop, row.Name) {
			p.verdict.Problem("the pods of the workload include %s, want only %v", row.Name, p.shop)
		}
	}
	if err := p.follow("#/pods/" + p.bench.Namespace + "/" + p.cold); err != nil {
		return err
	}
	if err := p.clickVisible("the link to the registry", `.pod-view td:nth-child(3) > a`); err != nil {
		return err
	}
	if err := p.clickVisible("the link to the pods of the registry", `.registry .leads a`); err != nil {
		return err
	}
	p.verdict.Compared++
	return p.tab.Await("the pod in the list of the registry", `location.hash.startsWith('#/?registry=') && `+
		page.HasRow(p.cold, agent.Ready), pageWait)
}

// clickVisible waits until the first element that matches a selector is visible, and clicks this element.
func (p *pageRun) clickVisible(what, selector string) error {
	element := fmt.Sprintf("document.querySelector(%q)", selector)
	if err := p.tab.Await(what, element+"?.checkVisibility()", pageWait); err != nil {
		return err
	}
	_, err := browser.Eval[int](p.tab, "("+element+".click(), 0)")
	return err
}

// judgeComparison opens the view that compares two pods of the Deployment. The total difference in this view must
// agree with the API.
func (p *pageRun) judgeComparison(ctx context.Context) error {
	var totals []float64
	sides := url.Values{}
	for i, pod := range p.shop[:2] {
		timeline, err := p.bench.Agent.Timeline(ctx, p.bench.Namespace, pod)
		if err != nil {
			return err
		}
		total, err := agent.Nanoseconds(timeline.TotalSeconds)
		if err != nil {
			return err
		}
		totals = append(totals, total.Seconds())
		sides.Set([]string{"a", "b"}[i], p.bench.Namespace+"/"+pod+"/"+timeline.UID)
	}
	p.comparison = "#/compare?" + sides.Encode()
	if err := p.follow(p.comparison); err != nil {
		return err
	}
	if err := p.tab.Await("the comparison", `document.querySelectorAll('.compare-view .bars i').length > 6`,
		pageWait); err != nil {
		return err
	}
	shown, err := browser.Eval[float64](p.tab, `Number([...document.querySelectorAll('.compare-view tr')].at(-1)
		.cells[3].firstChild.textContent.replace('−', '-').replace(/\s*s$/, ''))`)
	if err != nil {
		return err
	}
	p.verdict.Compared++
	if want := totals[1] - totals[0]; math.Abs(shown-want) > 0.001 {
		p.verdict.Problem("the comparison shows a difference of %.3f s, want the API's difference of %.3f s",
			shown, want)
	}
	return p.follow("#/?q=" + p.bench.Namespace)
}
