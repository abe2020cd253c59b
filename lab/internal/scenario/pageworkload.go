package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/browser"
	"github.com/podlapse/podlapse/lab/internal/page"
)

// workloadResponse is the API's response about a workload.
type workloadResponse struct {
	Verdict     string   `json:"verdict"`
	Differences []string `json:"differences"`
	WhatIf      []struct {
		Text       string `json:"text"`
		Effect     string `json:"effect"`
		Assumption string `json:"assumption"`
	} `json:"what_if"`
	WhatIfUnknown []struct {
		Text   string `json:"text"`
		Reason string `json:"reason"`
	} `json:"what_if_unknown"`
	Summary struct {
		Revisions []struct {
			Name      string `json:"revision"`
			Durations *struct {
				StartUps int         `json:"start_ups"`
				Error    json.Number `json:"mean_error_seconds"`
			} `json:"durations"`
			Pulled   int `json:"pulled"`
			PulledOf int `json:"pulled_of"`
		} `json:"revisions"`
		Comparison struct {
			From string `json:"from"`
			To   string `json:"to"`
		} `json:"comparison"`
	} `json:"summary"`
}

// judgeWorkload rolls out a second revision of the Deployment, and compares the view of the workload with the API. Then
// judgeWorkload swaps the two revisions of the comparison, and compares the view with the API again.
func (p *pageRun) judgeWorkload(ctx context.Context) error {
	path := "/apis/apps/v1/namespaces/" + p.bench.Namespace + "/deployments/shop"
	labels := map[string]any{"metadata": map[string]any{"labels": map[string]string{"roll": "again"}}}
	change := map[string]any{"spec": map[string]any{"template": labels}}
	if err := p.bench.Kube.Merge(ctx, path, change); err != nil {
		return fmt.Errorf("roll out deployment \"shop\": %w", err)
	}
	workload := p.bench.Namespace + "/Deployment/shop"
	latest, err := p.compareWorkload(ctx, workload, "")
	if err != nil {
		return err
	}
	c := latest.Summary.Comparison
	_, err = p.compareWorkload(ctx, workload, c.To+","+c.From)
	return err
}

// compareWorkload waits until the API reports two revisions with two start-ups each, and the page shows the same
// summary as the API. The page requests the summary at most once every five seconds.
func (p *pageRun) compareWorkload(ctx context.Context, workload, revisions string) (workloadResponse, error) {
	fragment, request := "#/workloads?owner="+workload, "api/v1/workloads/"+workload
	if revisions != "" {
		fragment, request = fragment+"&revision="+revisions, request+"?revision="+revisions
	}
	if err := p.follow(fragment); err != nil {
		return workloadResponse{}, err
	}
	var response workloadResponse
	what := "the page and the API to agree about two revisions of " + workload
	err := p.bench.Node.Report.Wait(ctx, what, time.Minute, 200*time.Millisecond, func(context.Context) (err error) {
		response, err = browser.Eval[workloadResponse](p.tab,
			fmt.Sprintf(`fetch(%q).then((response) => response.json())`, request))
		if err != nil {
			return err
		}
		want, err := response.shown()
		if err != nil {
			return err
		}
		complete := func(r page.Revision) bool { return r.StartUps == "2" }
		if len(want.Revisions) != 2 || !complete(want.Revisions[0]) || !complete(want.Revisions[1]) {
			return fmt.Errorf("the agent's API shows the revisions %+v, want two revisions with two start-ups each",
				want.Revisions)
		}
		got, err := page.ReadWorkload(p.tab)
		if err == nil && !want.equal(got) {
			err = fmt.Errorf("the page shows %+v, but the agent's API shows %+v", got, want.Workload)
		}
		return err
	})
	p.verdict.Compared++
	p.verdict.Note("the page shows for the revisions %s of %s: %q", revisions, workload, response.Differences)
	return response, err
}

// shownWorkload contains the texts that the page must show about a workload.
type shownWorkload struct{ page.Workload }

// shown returns what the page must show for a response.
func (a workloadResponse) shown() (shownWorkload, error) {
	w := page.Workload{Verdict: a.Verdict, Differences: a.Differences}
	for _, change := range a.WhatIf {
		w.Help = append(w.Help, change.Text+": "+change.Effect+", "+change.Assumption)
	}
	for _, change := range a.WhatIfUnknown {
		w.Help = append(w.Help, change.Text+": no prediction, because "+change.Reason)
	}
	w.Help = w.Help[:min(len(w.Help), 3)]
	for _, r := range a.Summary.Revisions {
		revision := page.Revision{Name: r.Name, StartUps: "0", Error: "–",
			Pulled: fmt.Sprintf("%d of %d", r.Pulled, r.PulledOf)}
		if r.Durations != nil {
			bound, err := agent.Nanoseconds(r.Durations.Error)
			if err != nil {
				return shownWorkload{}, err
			}
			revision.StartUps, revision.Error = strconv.Itoa(r.Durations.StartUps), "±"+shownSeconds(bound)
		}
		w.Revisions = append(w.Revisions, revision)
	}
	return shownWorkload{w}, nil
}

func (w shownWorkload) equal(got page.Workload) bool {
	return got.Verdict == w.Verdict && slices.Equal(got.Help, w.Help) &&
		slices.Equal(got.Differences, w.Differences) && slices.Equal(got.Revisions, w.Revisions)
}

// shownShare matches the percentage at the beginning of the text about a download.
var shownShare = regexp.MustCompile(`^(?:<1|(\d+)) % ?`)

// While the Deployment's pods pull their image, judgeDownloads compares the downloads in the view of pulls with the
// API. The page receives the downloads every two seconds. So the page can show a smaller share than the API has
// reported, but not a larger share.
func (p *pageRun) judgeDownloads() error {
	downloads, err := page.Downloads(p.tab, "/shop:")
	if err != nil {
		return err
	}
	for _, d := range downloads {
		p.verdict.Compared++
		share := shownShare.FindStringSubmatch(d.Text)
		if share == nil {
			p.verdict.Problem("pod %s: the text about the download is %q, want a share in percent", d.Pod, d.Text)
			continue
		}
		percent, _ := strconv.ParseFloat(share[1], 64) // 0 for the text "<1 %"
		if percent > d.Most+0.5 {
			p.verdict.Problem("pod %s: the page shows %q, but the API has reported at most %.1f %%", d.Pod, d.Text,
				d.Most)
		}
	}
	if len(downloads) > 0 {
		p.verdict.Note("the last text about a download is %q", downloads[len(downloads)-1].Text)
	} else {
		p.verdict.Note("no download was in progress when the view of pulls was open")
	}
	return nil
}
