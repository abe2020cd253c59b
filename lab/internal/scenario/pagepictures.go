package scenario

import (
	"context"
	"path/filepath"

	"github.com/podlapse/podlapse/lab/internal/browser"
	"github.com/podlapse/podlapse/lab/internal/page"
)

// documentedViews contains the views that the documents show. The keys are the names of the views, and the values are
// the names of their pictures in docs/.
func documentedViews() map[string]string {
	return map[string]string{"pod-light": pagePicture, "workload": "workload.png"}
}

// savePictures saves a picture of every view for developers.
func (p *pageRun) savePictures(context.Context) error {
	pod := "#/pods/" + p.bench.Namespace + "/" + p.cold
	desk, phone := browser.Look{Width: deskWidth, Height: deskHeight},
		browser.Look{Width: phoneWidth, Height: phoneHeight, Phone: true}
	const layers = `(document.querySelector('.can-open[aria-expanded=false]')?.click(),
		document.querySelector('.wf-layer'))`
	dark := func(l browser.Look) browser.Look { l.Dark = true; return l }
	for _, shot := range []struct {
		name, fragment, shown string
		look                  browser.Look
	}{
		{"pod-dark", pod, layers, dark(desk)},
		{"pod-light", pod, layers, desk},
		{"pod-phone", pod, layers, dark(phone)},
		{"list-light", "#/", `document.querySelector('.row')`, desk},
		{"list-phone", "#/", `document.querySelector('.row')`, phone},
		{"pulls", "#/pulls", `document.querySelector('.wait')`, dark(desk)},
		{"what-would-help", "#/pods/" + p.bench.Namespace + "/" + p.helped, page.Help + ".length > 0", phone},
		{"registries", "#/registries", `document.querySelector('.registry')`, desk},
		{"workloads", "#/workloads", `document.querySelector('tbody tr')`, desk},
		{"workload", "#/workloads?owner=" + p.bench.Namespace + "/Deployment/shop",
			`document.querySelector('.workloads-view .cause-bar i')`, desk},
		{"images", "#/images", `document.querySelector('tbody tr')`, dark(desk)},
		{"node", "#/node", `document.querySelector('tbody tr')`, desk},
		{"compare", p.comparison, `document.querySelector('.bars i')`, desk},
		{"compare-phone", p.comparison, `document.querySelector('.bars i')`, dark(phone)},
		{"quality", "#/quality", `document.querySelector('.parts li')`, dark(desk)},
	} {
		if shot.name == "what-would-help" && p.helped == "" {
			p.verdict.Note("no picture of the changes that would help: the evidence of this run bounds no gain")
			continue
		}
		tab, err := p.browser.Open(shot.look)
		if err != nil {
			return err
		}
		err = tab.Go(p.bench.Agent.Server + "/" + shot.fragment)
		if err == nil {
			err = tab.Await("the view "+shot.name, shot.shown, pageWait)
		}
		if err == nil {
			err = p.savePictureAs(tab, shot.name, true)
		}
		if picture := documentedViews()[shot.name]; err == nil && picture != "" {
			err = savePagePicture(filepath.Join(keptIn(p.bench), shot.name+".png"), picture)
		}
		for _, complaint := range tab.Complaints() {
			p.verdict.Problem("at %s, the browser must report no errors, but reports: %s", shot.fragment, complaint)
		}
		tab.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
