package prereq

import (
	"context"

	"github.com/podlapse/podlapse/lab/internal/browser"
	"github.com/podlapse/podlapse/lab/internal/progress"
)

// Browser installs the browser if the browser is missing.
func Browser(ctx context.Context, report *progress.Reporter) error {
	return ensure(ctx, report, []requirement{{browser.Program, "to test the page", program(browser.Program)}})
}
