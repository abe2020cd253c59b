// Package browser runs a real Chromium without a screen and collects the errors and warnings that Chromium reports.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/chromedp/chromedp"
)

// Program is the name of the Chromium program in Debian.
const Program = "chromium"

// Browser is one Chromium process with its own profile. Close stops the process.
type Browser struct {
	context context.Context
	stop    func()
	profile string
}

// Start starts a browser. The browser stops when the caller calls Close, or when ctx ends.
func Start(ctx context.Context) (*Browser, error) {
	program, err := exec.LookPath(Program)
	if err != nil {
		return nil, fmt.Errorf("start a browser: %w", err)
	}
	profile, err := os.MkdirTemp("", "podlapse-browser-")
	if err != nil {
		return nil, fmt.Errorf("start a browser: %w", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(profile),
		chromedp.Flag("no-sandbox", true), // the lab runs as root
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-dev-shm-usage", true), // containers have only a small /dev/shm
		chromedp.Flag("no-proxy-server", true),       // all servers are on loopback
		chromedp.Flag("force-color-profile", "srgb"), // makes screenshots look the same on every machine
	)
	allocator, stopAllocator := chromedp.NewExecAllocator(ctx, options...)
	within, stopBrowser := chromedp.NewContext(allocator)
	b := &Browser{context: within, profile: profile, stop: func() { stopBrowser(); stopAllocator() }}
	if err := chromedp.Do(within); err != nil {
		return nil, errors.Join(fmt.Errorf("start a browser: %w", err), b.Close())
	}
	return b, nil
}

// Close stops the browser and removes its profile.
func (b *Browser) Close() error {
	b.stop()
	if err := os.RemoveAll(b.profile); err != nil {
		return fmt.Errorf("remove the browser's profile: %w", err)
	}
	return nil
}
