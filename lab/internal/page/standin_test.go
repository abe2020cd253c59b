package page

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/browser"
	"github.com/podlapse/podlapse/lab/internal/build"
	"github.com/podlapse/podlapse/lab/internal/prereq"
	"github.com/podlapse/podlapse/lab/internal/progress"
)

var inBrowser = flag.Bool("browser", false, "test the page in a real browser, and install the browser if it is missing")

// wide and narrow are the windows of a desktop computer and a phone.
var (
	wide   = browser.Look{Width: 1440, Height: 900, Dark: true}
	narrow = browser.Look{Width: 360, Height: 780, Phone: true}
)

// program is the path of the agent's stand-in. The tests build the stand-in only once.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		if !*inBrowser {
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "podlapse-standin-")
		if err == nil {
			defer os.RemoveAll(dir)
			err = prepare(dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

func prepare(dir string) error {
	lab, err := build.FindSource()
	if err != nil {
		return err
	}
	program = filepath.Join(dir, "standin")
	compile := exec.Command("go", "build", "-o", program, "./internal/web/standin")
	compile.Dir = filepath.Dir(lab)
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("build the stand-in: %w\n%s", err, out)
	}
	return prereq.Browser(context.Background(), progress.New(os.Stderr))
}

// standin is a running stand-in, which simulates an agent.
type standin struct {
	address string // host:port
	process *os.Process
	stop    func()
}

// standIn starts a stand-in, and stops the stand-in when the test ends.
func standIn(t *testing.T, arguments ...string) standin {
	t.Helper()
	if !*inBrowser {
		t.Skip("no browser: run make page-test")
	}
	cmd := exec.Command(program, arguments...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	s := standin{process: cmd.Process, stop: func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Signal(syscall.SIGTERM) // fails if the process has already ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("stand-in: %v", err)
		}
	}}
	t.Cleanup(s.stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("read the address that the stand-in prints: %v", err)
	}
	s.address = strings.TrimSpace(line)
	return s
}

// openTab starts a browser and opens a tab. The browser stops when the test ends.
func openTab(t *testing.T, look browser.Look) *browser.Tab {
	t.Helper()
	b, err := browser.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	tab, err := b.Open(look)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eval[V any](t *testing.T, tab *browser.Tab, expression string) V {
	t.Helper()
	value, err := browser.Eval[V](tab, expression)
	must(t, err)
	return value
}

// requireNoComplaints requires that the browser has reported no errors or warnings.
func requireNoComplaints(t *testing.T, tab *browser.Tab) {
	t.Helper()
	for _, complaint := range tab.Complaints() {
		t.Errorf("the browser reports errors: %.1000s", complaint)
	}
}

const soon = 10 * time.Second

// TestAwaitPromise checks that Await waits for the value of a promise.
func TestAwaitPromise(t *testing.T) {
	tab := openModules(t)
	const after = `new Promise((done) => setTimeout(done, 200, `
	must(t, tab.Await("a true value", after+`true))`, soon))
	if err := tab.Await("a false value", after+`false))`, 0); err == nil {
		t.Error("Await accepts a promise of a false value")
	}
}
