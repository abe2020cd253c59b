package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/browser"
	"github.com/podlapse/podlapse/lab/internal/page"
	"github.com/podlapse/podlapse/lab/internal/prereq"
)

// judgePage requires that the page shows the verdict and all phases of the node's start-up. judgePage saves a picture
// of the page.
func (n *nodeBoot) judgePage(ctx context.Context, report agent.NodeStartUp) error {
	if err := prereq.Browser(ctx, n.Node.Report); err != nil {
		return err
	}
	chromium, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	err = n.readPage(chromium, report)
	return errors.Join(err, chromium.Close())
}

func (n *nodeBoot) readPage(chromium *browser.Browser, report agent.NodeStartUp) error {
	tab, err := chromium.Open(browser.Look{Width: deskWidth, Height: deskHeight})
	if err != nil {
		return err
	}
	if err := tab.Go(n.Agent.Server + "/#/node"); err != nil {
		return err
	}
	n.verdict.Compared += 2
	if err := tab.Await("the start-up of the node", page.NodeStartUp+"?.checkVisibility()", pageWait); err != nil {
		return err
	}
	text, err := browser.Eval[string](tab, page.NodeStartUp+".querySelector('p').textContent")
	if err != nil {
		return err
	}
	if text != report.Verdict {
		n.verdict.Problem("the page shows the verdict %q, but the API has %q", text, report.Verdict)
	}
	phases, err := browser.Eval[int](tab, page.NodeStartUp+".querySelectorAll('tbody tr').length")
	if err != nil {
		return err
	}
	if phases != len(report.Phases) {
		n.verdict.Problem("the page shows %d phases, but the API has %d", phases, len(report.Phases))
	}
	if err := os.MkdirAll(keptIn(n.Bench), 0o700); err != nil {
		return fmt.Errorf("save a picture: %w", err)
	}
	screenshot := filepath.Join(keptIn(n.Bench), "node.png")
	n.verdict.Note("picture: %s", screenshot)
	if err := tab.Picture(screenshot, true); err != nil {
		return err
	}
	for _, complaint := range tab.Complaints() {
		n.verdict.Problem("the browser must report no errors, but reports: %s", complaint)
	}
	return savePagePicture(screenshot, "node.png")
}
