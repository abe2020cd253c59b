package process

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// Signal sends a signal to exactly this process, or to none.
func (id Identity) Signal(signal syscall.Signal) error {
	// os.FindProcess holds a pidfd. The identity is checked through it, so if the PID is reused afterwards, the signal
	// does not reach the new process.
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return nil
	}
	defer p.Release()
	if !id.Alive() {
		return nil
	}
	if err := p.Signal(signal); err != nil && id.Alive() {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// Stop asks the process to end, kills it after the grace period, and returns when it is gone. It continues a process
// that was stopped with SIGSTOP, so that it can end by itself.
func (id Identity) Stop(grace time.Duration) error {
	if grace > 0 {
		if err := id.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if err := id.Signal(syscall.SIGCONT); err != nil {
			return err
		}
		if id.waitGone(grace) {
			return nil
		}
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	const patience = 10 * time.Second
	if !id.waitGone(patience) {
		return fmt.Errorf("stop process %d: still running %s after SIGKILL", id.PID, patience)
	}
	return nil
}

func (id Identity) waitGone(limit time.Duration) bool {
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		if !id.Alive() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
