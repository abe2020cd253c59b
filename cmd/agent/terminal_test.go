//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/internal/terminal"
)

// console is a terminal with a process.
type console struct {
	t       *testing.T
	master  *os.File
	slave   *os.File
	cmd     *exec.Cmd
	read    chan struct{} // closed after the test has read all output
	mu      sync.Mutex
	shown   strings.Builder
	columns int
	initial unix.Termios // settings of the terminal before the command started
}

func onConsole(t *testing.T, args ...string) *console {
	t.Helper()
	return onConsoleWith(t, "A=b", args...)
}

// onConsoleWith runs a command like onConsole, with an additional environment variable.
func onConsoleWith(t *testing.T, variable string, args ...string) *console {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals on this machine: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals on this machine: %v", err)
	}
	t.Cleanup(func() { slave.Close() })
	c := &console{t: t, master: master, slave: slave, read: make(chan struct{})}
	c.resize(100)
	c.initial = c.settings()
	c.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], args...)
	c.cmd.Env = append(agentEnvironment(), "TERM=xterm-256color", variable)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	go c.follow()
	return c
}

func (c *console) follow() {
	defer close(c.read)
	part := make([]byte, 4096)
	for {
		n, err := c.master.Read(part)
		c.mu.Lock()
		c.shown.Write(part[:n])
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown.String()
}

// picture returns the lines of the last complete frame, without colors.
func (c *console) picture() []string {
	all := c.text()
	end := strings.LastIndex(all, "\x1b[J") // ignore an incomplete frame
	if end < 0 {
		return []string{all}
	}
	last := all[:end]
	last = last[strings.LastIndex(last, "\x1b[H")+len("\x1b[H"):]
	var lines []string
	for line := range strings.SplitSeq(last, "\x1b[K\r\n") {
		plain := ""
		for i, part := range strings.Split(line, "\x1b[") {
			if i > 0 {
				_, part, _ = strings.Cut(part, "m")
			}
			plain += part
		}
		lines = append(lines, plain)
	}
	return lines
}

func (c *console) await(what string, seen func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); !seen(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("never saw %s in\n%s", what, strings.Join(c.picture(), "\n"))
		}
	}
}

func (c *console) awaitText(want string) {
	c.t.Helper()
	c.await(want, func() bool { return strings.Contains(strings.Join(c.picture(), "\n"), want) })
}

func (c *console) resize(columns uint16) {
	c.t.Helper()
	c.columns = int(columns)
	if err := unix.IoctlSetWinsize(int(c.slave.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: 24, Col: columns}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *console) settings() unix.Termios {
	c.t.Helper()
	settings, err := unix.IoctlGetTermios(int(c.slave.Fd()), unix.TCGETS)
	if err != nil {
		c.t.Fatal(err)
	}
	return *settings
}

// startTopOnIdleNode runs the command `top` on a terminal, for an agent without pods. The result "before" contains the
// terminal's settings before the start of the command.
func startTopOnIdleNode(t *testing.T) (cluster *podwatchtest.Server, agent *process, c *console, before unix.Termios) {
	t.Helper()
	cluster = podwatchtest.Start(t)
	agent = start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off")
	agent.pollUntil("/readyz?verbose", "[+]pod_watch ok")
	c = onConsole(t, "top", "--server", agent.base)
	c.awaitText("no pods are starting")
	return cluster, agent, c, c.initial
}

// TestTopOnTerminal follows a pod on a real terminal, and makes the terminal narrower. The command `top` must restore
// the terminal at every kind of exit.
func TestTopOnTerminal(t *testing.T) {
	for name, end := range map[string]func(*console) error{
		"q":       func(c *console) error { _, err := c.master.WriteString("q"); return err },
		"Ctrl-C":  func(c *console) error { _, err := c.master.WriteString("\x03"); return err },
		"SIGINT":  func(c *console) error { return c.cmd.Process.Signal(os.Interrupt) },
		"SIGTERM": func(c *console) error { return c.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			cluster, agent, c, before := startTopOnIdleNode(t)
			if c.settings().Lflag&unix.ECHO != 0 {
				t.Error("the terminal echoes input")
			}
			cluster.Put(web0(time.Now().Add(-3 * time.Second)))
			c.awaitText("shop/web-0")
			c.awaitText("1 starting, 0 started recently")
			c.resize(40)
			c.await("a picture of 40 columns", func() bool {
				for _, line := range c.picture() {
					if terminal.Cells(line) > c.columns {
						return false
					}
				}
				return strings.Contains(strings.Join(c.picture(), "\n"), "web-0")
			})
			c.resize(100)
			cluster.Put(readyPod(web0(time.Now().Add(-3*time.Second)), time.Now()))
			c.awaitText("0 starting, 1 started recently")
			agent.mustEndCleanly()
			c.awaitText("no data from node-a")

			if err := end(c); err != nil {
				t.Fatal(err)
			}
			if err := c.cmd.Wait(); err != nil {
				t.Errorf("ended with %v", err)
			}
			if after := c.settings(); after != before {
				t.Errorf("terminal settings were %+v and are %+v", before, after)
			}
			const leave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
			c.await("the end", func() bool { return strings.HasSuffix(c.text(), leave) })
			c.slave.Close()
			<-c.read
		})
	}
}

// TestTopOnBlockedTerminal sends signals while the terminal accepts no text. After the second signal, the command `top`
// must exit and must restore the settings of the terminal.
func TestTopOnBlockedTerminal(t *testing.T) {
	_, agent, c, before := startTopOnIdleNode(t)
	hold := func(how int) {
		t.Helper()
		if err := unix.IoctlSetInt(int(c.slave.Fd()), unix.TCXONC, how); err != nil {
			t.Fatal(err)
		}
	}
	hold(unix.TCOOFF)
	c.resize(60) // requires a new frame
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	for range 2 {
		select {
		case err := <-ended:
			t.Fatalf("a blocked terminal did not block top: %v", err)
		case <-time.After(time.Second):
		}
		if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("top did not exit")
	}
	if code := c.cmd.ProcessState.ExitCode(); code != cli.ExitFailed {
		t.Errorf("exit %d", code)
	}
	if after := c.settings(); after != before {
		t.Errorf("terminal settings were %+v and are %+v", before, after)
	}
	hold(unix.TCOON)
	c.slave.Close()
	<-c.read
	agent.mustEndCleanly()
}

// TestTopFailsToStart checks that a failed start of the command `top` does not change the terminal.
func TestTopFailsToStart(t *testing.T) {
	c := onConsole(t, "top", "--kubeconfig", agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t)))
	var failed *exec.ExitError
	if err := c.cmd.Wait(); !errors.As(err, &failed) || failed.ExitCode() != cli.ExitUnreachable {
		t.Errorf("%v", err)
	}
	c.await("why", func() bool { return strings.Contains(c.text(), "connection refused") })
	if strings.Contains(c.text(), "\x1b") {
		t.Errorf("%q", c.text())
	}
	c.slave.Close()
	<-c.read
}

// TestTopRefusedByAgent checks that the command `top` exits, restores the terminal and prints the reason.
func TestTopRefusedByAgent(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"error":"forbidden","reason":"jane may not"}`)
	}))
	defer agent.Close()
	c := onConsole(t, "top", "--server", agent.URL)
	before := c.initial
	var failed *exec.ExitError
	if err := c.cmd.Wait(); !errors.As(err, &failed) || failed.ExitCode() != cli.ExitForbidden {
		t.Errorf("%v", err)
	}
	c.await("why", func() bool {
		return strings.Contains(c.text(), "\x1b[?1049lpodlapse-agent top: the agent responded")
	})
	if after := c.settings(); after != before {
		t.Errorf("terminal settings were %+v and are %+v", before, after)
	}
	c.slave.Close()
	<-c.read
}

// TestExplainOnTerminal expects colors on a terminal, and none with NO_COLOR or TERM=dumb.
func TestExplainOnTerminal(t *testing.T) {
	agent := agentWithDeletedPod(t)
	for variable, want := range map[string]bool{"A=b": true, "NO_COLOR=1": false, "TERM=dumb": false} {
		c := onConsoleWith(t, variable, "explain", "shop/web-0", "--server", agent.base)
		if err := c.cmd.Wait(); err != nil {
			t.Error(err)
		}
		c.await("the table", func() bool { return strings.Contains(c.text(), "NO EVIDENCE FOR") })
		if got := strings.Contains(c.text(), "\x1b[1mshop/web-0: "); got != want {
			t.Errorf("%s: %q", variable, c.text())
		}
		c.slave.Close()
		<-c.read
	}
	agent.mustEndCleanly()
}
