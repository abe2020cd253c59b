package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// documentedShell runs the documents' commands as a user would, in a clone of the repository.
type documentedShell struct {
	b           *bench.Bench
	dir         string            // the working directory
	environment []string          // environment variables of the commands
	names       map[string]string // the lab's names for the placeholders
}

const (
	documentedLimit = 30 * time.Second // maximum duration of one command
	interruptLimit  = 5 * time.Second  // maximum time until a command ends after an interrupt
)

// The method run runs a command. It returns an error if the command does not work as documented. If the command keeps
// running, run returns the process.
func (s documentedShell) run(ctx context.Context, run documentedRun) (*documentedProcess, error) {
	if run.helm != nil {
		return nil, s.helm(ctx, run.helm)
	}
	process, err := s.start(ctx, run.text)
	if err != nil {
		return nil, err
	}
	if run.until == nil {
		return nil, process.finish(run.shows)
	}
	if err := process.await(run.until); err != nil {
		return nil, errors.Join(err, process.stop())
	}
	if run.stays {
		return process, nil
	}
	return nil, process.stop()
}

// documentedProcess is a running command.
type documentedProcess struct {
	cmd    *exec.Cmd
	output *documentedOutput
	ended  chan struct{} // closed when the command has ended
	err    error         // result of the command; read err only after ended is closed
	end    context.CancelFunc
}

// start starts a command in a separate process group, because the shell does not forward signals.
func (s documentedShell) start(ctx context.Context, text string) (*documentedProcess, error) {
	ctx, cancel := context.WithTimeout(ctx, documentedLimit)
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", text)
	cmd.Dir, cmd.Env = s.dir, s.environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	p := &documentedProcess{cmd: cmd, output: &documentedOutput{grown: make(chan struct{}, 1)},
		ended: make(chan struct{}), end: cancel}
	cmd.Stdout, cmd.Stderr = p.output, p.output
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

// finish waits until the command has ended. It returns an error if the command failed.
func (p *documentedProcess) finish(shows bool) error {
	defer p.end()
	<-p.ended
	switch text := p.output.String(); {
	case p.err != nil:
		return fmt.Errorf("%w: %s", p.err, lastLines(text))
	case shows && strings.TrimSpace(text) == "":
		return errors.New("the command printed nothing")
	}
	return nil
}

// await waits until the output matches.
func (p *documentedProcess) await(until *regexp.Regexp) error {
	for {
		if until.MatchString(p.output.String()) {
			return nil
		}
		select {
		case <-p.output.grown:
		case <-p.ended:
			if until.MatchString(p.output.String()) {
				return nil
			}
			return fmt.Errorf("the command ended (%v) without the output %q: %s", p.err, until,
				lastLines(p.output.String()))
		}
	}
}

// stop interrupts the command like Ctrl-C and requires that the command ends.
func (p *documentedProcess) stop() error {
	defer p.end()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT) // the command might have ended already
	limit := time.NewTimer(interruptLimit)
	defer limit.Stop()
	select {
	case <-p.ended:
		return nil
	case <-limit.C:
		p.end()
		<-p.ended
		return fmt.Errorf("the command did not end within %s after an interrupt", interruptLimit)
	}
}

// stopAll stops commands whose block has ended.
func stopAll(processes []*documentedProcess) {
	for _, process := range processes {
		_ = process.stop() // await has judged the command
	}
}

// documentedOutput collects what a command prints on standard output and standard error.
type documentedOutput struct {
	mutex sync.Mutex
	text  bytes.Buffer
	grown chan struct{} // receives a value after a write; one value can represent several writes
}

// documentedOutputLimit is the maximum size of the collected output, in bytes. documentedOutput drops further output.
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

// lastLines returns the last lines of an output.
func lastLines(text string) string {
	const most = 8
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
