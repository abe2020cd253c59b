package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// documentedShell runs the documents' commands as a user would. The working directory looks like a clone of the
// repository.
type documentedShell struct {
	b           *bench.Bench
	dir         string            // the working directory
	environment []string          // environment variables of the commands
	names       map[string]string // the lab's name for each placeholder in the documents
	releases    *helmReleases     // current state of the Helm releases
}

const (
	documentedLimit = 30 * time.Second // maximum duration of a command, or of the wait for its output
	interruptLimit  = 5 * time.Second  // maximum time until a command ends after an interrupt
)

// runCommand runs a command of a document. If the command does not work as documented, runCommand returns an error. If
// the command keeps running, runCommand returns the process.
func (s documentedShell) runCommand(ctx context.Context, file string, run documentedRun) (*documentedProcess, error) {
	if run.helm != nil {
		return nil, s.checkHelm(ctx, file, run.helm)
	}
	process, err := s.startCommand(ctx, run)
	if err != nil {
		return nil, err
	}
	if run.until == nil {
		return nil, process.awaitSuccess()
	}
	if err := process.await(); err != nil {
		process.kill()
		return nil, err
	}
	if run.stays {
		return process, nil
	}
	return nil, process.interrupt()
}

// documentedProcess is a running command.
type documentedProcess struct {
	documentedRun
	cmd            *exec.Cmd
	stdout, stderr *documentedOutput
	ended          chan struct{} // closed when the command has ended
	err            error         // result of the command; valid only after the channel "ended" is closed
	end            context.CancelFunc
}

// startCommand starts a shell that runs the command. The shell and its programs get their own process group, so that a
// signal to the group reaches all of them. The shell itself does not forward signals.
func (s documentedShell) startCommand(ctx context.Context, run documentedRun) (*documentedProcess, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", run.text)
	cmd.Dir, cmd.Env = s.dir, s.environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	p := &documentedProcess{documentedRun: run, cmd: cmd, stdout: newDocumentedOutput(), stderr: newDocumentedOutput(),
		ended: make(chan struct{}), end: cancel}
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start the command: %w", err)
	}
	go func() { // this goroutine ends when the command ends
		defer close(p.ended)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// awaitSuccess waits until the command has ended. If the command failed, awaitSuccess returns an error.
func (p *documentedProcess) awaitSuccess() error {
	defer p.end()
	limit := time.NewTimer(documentedLimit)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-limit.C:
		p.kill()
		return fmt.Errorf("the command did not end within %s: %s", documentedLimit, p.lastLines())
	}
	switch {
	case p.err != nil:
		return fmt.Errorf("the command failed: %w: %s", p.err, p.lastLines())
	case p.shows && strings.TrimSpace(p.stdout.String()) == "":
		return fmt.Errorf("the command printed nothing on standard output; standard error: %s", p.lastLines())
	}
	return nil
}

// await waits until the command's standard output matches the pattern in the field "until".
func (p *documentedProcess) await() error {
	limit := time.NewTimer(documentedLimit)
	defer limit.Stop()
	for !p.until.MatchString(p.stdout.String()) {
		select {
		case <-p.stdout.grown:
		case <-p.ended:
			if p.until.MatchString(p.stdout.String()) {
				return nil
			}
			return fmt.Errorf("the command ended (%v) before its standard output matched %q: %s", p.err, p.until,
				p.lastLines())
		case <-limit.C:
			return fmt.Errorf("the command's standard output did not match %q within %s: %s", p.until, documentedLimit,
				p.lastLines())
		}
	}
	return nil
}

// interrupt sends SIGINT to the command, as Ctrl-C does. interrupt returns an error if the command ended before the
// interrupt. interrupt also returns an error if the command does not end within interruptLimit, or if the command fails
// after the interrupt. If SIGINT itself ends the command, interrupt returns an error only if the field "exits" is true.
func (p *documentedProcess) interrupt() error {
	defer p.end()
	select {
	case <-p.ended:
		return fmt.Errorf("the command ended before the interrupt (%v): %s", p.err, p.lastLines())
	default:
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT); err != nil {
		p.kill()
		return fmt.Errorf("interrupt the command: %w", err)
	}
	limit := time.NewTimer(interruptLimit)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-limit.C:
		p.kill()
		return fmt.Errorf("the command did not end within %s after an interrupt", interruptLimit)
	}
	if p.err == nil || !p.exits && diedOfInterrupt(p.err) {
		return nil
	}
	return fmt.Errorf("the command failed after an interrupt: %w: %s", p.err, p.lastLines())
}

// diedOfInterrupt reports whether SIGINT ended a command. If SIGINT ends a command that a shell runs, the shell exits
// with status 130.
func diedOfInterrupt(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	const interrupted = 128 + int(syscall.SIGINT)
	return ok && (status.Signaled() && status.Signal() == syscall.SIGINT || exit.ExitCode() == interrupted)
}

// kill ends the command at once.
func (p *documentedProcess) kill() {
	p.end()
	<-p.ended
}

// stopAll stops the background commands of a block after the last command of the block.
func stopAll(processes []*documentedProcess) error {
	var failures []error
	for _, process := range processes {
		if err := process.interrupt(); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", firstLine(process.text), err))
		}
	}
	return errors.Join(failures...)
}

// lastLines returns the last lines of the output.
func (p *documentedProcess) lastLines() string {
	const most = 8
	lines := strings.Split(strings.TrimSpace(p.stdout.String()+"\n"+p.stderr.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// documentedOutput collects the text that a command prints on standard output or on standard error.
type documentedOutput struct {
	mutex sync.Mutex
	text  bytes.Buffer
	grown chan struct{} // receives a value after a write; one value can represent several writes
}

func newDocumentedOutput() *documentedOutput {
	return &documentedOutput{grown: make(chan struct{}, 1)}
}

// documentedOutputLimit limits the size of the collected output, in bytes. When the collected output has reached this
// size, documentedOutput drops all further output.
const documentedOutputLimit = 1 << 20

// Write never fails, so that the command does not end early.
func (o *documentedOutput) Write(data []byte) (int, error) {
	o.mutex.Lock()
	if o.text.Len() < documentedOutputLimit {
		o.text.Write(data)
	}
	o.mutex.Unlock()
	select {
	case o.grown <- struct{}{}:
	default:
	}
	return len(data), nil
}

// String returns the output so far.
func (o *documentedOutput) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}
