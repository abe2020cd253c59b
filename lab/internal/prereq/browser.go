package prereq

import (
	"context"

	"github.com/podlapse/podlapse/lab/internal/browser"
	"github.com/podlapse/podlapse/lab/internal/progress"
)

// Browser installs what shows pages, where it is missing.
func Browser(ctx context.Context, report *progress.Reporter) error {
	return ensure(ctx, report, []requirement{{browser.Program, "the page is tested in it", program(browser.Program)}})
}
