package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Look contains the display settings of a tab.
type Look struct {
	Width, Height int64
	Dark          bool
	Phone         bool // true if the tab uses touch input and two device pixels per CSS pixel
	Contrast      bool // true if the tab uses forced colors
}

// stepLimit is the time limit for one step in a tab.
const stepLimit = 20 * time.Second

// Tab is one page of a browser. Only one goroutine can use a Tab at a time.
type Tab struct {
	context context.Context
	close   func()

	mu         sync.Mutex
	complaints []string
}

// Open opens an empty tab.
func (b *Browser) Open(look Look) (*Tab, error) {
	within, closeTab := chromedp.NewContext(b.context)
	t := &Tab{context: within, close: closeTab}
	// The first call starts the tab. The context of this call must not have a deadline.
	err := errors.Join(chromedp.Do(within), chromedp.Listen(within, t.collectProblems))
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		if err == nil {
			_, err = runCommand(t, enable, cdp.Empty{})
		}
	}
	if err == nil {
		_, err = runCommand(t, page.Enable, page.EnableParams{})
	}
	if err != nil {
		closeTab()
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	return t, t.Show(look)
}

// Close closes the tab.
func (t *Tab) Close() { t.close() }

// Show changes the display settings of the tab.
func (t *Tab) Show(look Look) error {
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	forced := "none"
	if look.Contrast {
		forced = "active"
	}
	scale := 1.0
	if look.Phone {
		scale = 2
	}
	_, err := runCommand(t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: look.Width, Height: look.Height, DeviceScaleFactor: scale, Mobile: look.Phone})
	if err == nil {
		_, err = runCommand(t, emulation.SetTouchEmulationEnabled,
			emulation.SetTouchEmulationEnabledParams{Enabled: look.Phone})
	}
	if err == nil {
		_, err = runCommand(t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
				{Name: "forced-colors", Value: forced}}})
	}
	if err != nil {
		return fmt.Errorf("change the display settings of a tab: %w", err)
	}
	return nil
}

// collectProblems collects the errors and warnings of the page. collectProblems must not block.
func (t *Tab) collectProblems(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning ||
			e.Type == runtime.ConsoleAPICalledTypeAssert {
			var words []string
			for _, argument := range e.Args {
				words = append(words, string(argument.Value)+argument.Description)
			}
			t.complain("console %s: %s", e.Type, strings.Join(words, " "))
		}
	case *runtime.EventExceptionThrown:
		t.complain("exception: %s", describe(e.ExceptionDetails))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			t.complain("%s %s: %s (%s)", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *page.EventJavascriptDialogOpening:
		t.complain("dialog: %s", e.Message)
		// While a dialog is open, the tab does not respond to other calls, so this goroutine closes the dialog.
		go func() { _, _ = runCommand(t, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) }()
	}
}

func describe(e *runtime.ExceptionDetails) string {
	if e.Exception != nil {
		return e.Text + " " + e.Exception.Description
	}
	return e.Text
}

func (t *Tab) complain(format string, values ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.complaints = append(t.complaints, fmt.Sprintf(format, values...))
}

// Complaints returns the problems that the browser reported since the last call of Complaints. Problems are errors and
// warnings on the console, failed requests, policy violations and dialogs.
func (t *Tab) Complaints() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	complaints := t.complaints
	t.complaints = nil
	return complaints
}

// runStep runs one step in the browser and fails if the step exceeds the time limit.
func runStep[T any](t *Tab, step chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(t.context, stepLimit)
	defer cancel()
	return chromedp.Run(ctx, step)
}

// runCommand runs a command of the DevTools protocol and fails if the command exceeds the time limit.
func runCommand[P, R any](t *Tab, command cdp.Command[P, R], parameters P) (R, error) {
	ctx, cancel := context.WithTimeout(t.context, stepLimit)
	defer cancel()
	return chromedp.Call(ctx, command, parameters)
}

// Go opens an address as if a user had typed the address.
func (t *Tab) Go(address string) error {
	if _, err := runStep(t, chromedp.Navigate(address)); err != nil {
		return fmt.Errorf("go to %s: %w", address, err)
	}
	return nil
}

// Eval evaluates a JavaScript expression in a tab and decodes the value. If the value is a promise, Eval waits until
// the promise is settled.
func Eval[T any](t *Tab, expression string) (T, error) {
	value, err := runStep(t, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		return value, fmt.Errorf("evaluate %.200s: %w", expression, err)
	}
	return value, nil
}

// Press presses a key. Package kb defines the names of the keys.
func (t *Tab) Press(key string) error {
	if _, err := runStep(t, chromedp.KeyEvent(key)); err != nil {
		return fmt.Errorf("press %q: %w", key, err)
	}
	return nil
}

// Await waits until a JavaScript expression is true. If the value is a promise, Await waits for the value of the
// promise.
func (t *Tab) Await(what, expression string, limit time.Duration) error {
	const every = 50 * time.Millisecond
	for began := time.Now(); ; time.Sleep(every) {
		is, err := Eval[bool](t, "(async () => Boolean(await ("+expression+")))()")
		if err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		if is {
			return nil
		}
		if time.Since(began) > limit {
			// The content of the page usually shows the problem best.
			shown, _ := Eval[string](t, "location.href + ' ' + document.body.innerText.slice(0, 600)")
			return fmt.Errorf("wait for %s: the condition was still not true after %s; the page shows: %s", what,
				limit, shown)
		}
	}
}

// Picture saves a screenshot of the visible part of the page as a PNG file. If whole is true, Picture saves the entire
// page.
func (t *Tab) Picture(path string, whole bool) error {
	shot := chromedp.CaptureScreenshot()
	if whole {
		shot = chromedp.FullScreenshot(100)
	}
	png, err := runStep(t, shot)
	if err != nil {
		return fmt.Errorf("take a screenshot: %w", err)
	}
	if err := os.WriteFile(path, png, 0o600); err != nil {
		return fmt.Errorf("save a screenshot: %w", err)
	}
	return nil
}
