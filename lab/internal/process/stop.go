package process

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// Signal sends a signal to this process. If this process has exited, Signal does nothing, even if another process now
// has the same PID.
func (id Identity) Signal(signal syscall.Signal) error {
	// os.FindProcess opens a pidfd, which always refers to the same process. Signal then checks that this process still
	// has the PID. If the kernel reuses the PID later, the new process does not receive the signal.
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

// Stop asks the process to exit, and kills the process after the grace period. If Stop returns nil, the process has
// exited. After SIGTERM, Stop also sends SIGCONT, because a process that SIGSTOP has stopped cannot handle SIGTERM.
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
		return fmt.Errorf("stop process %d: the process is still running %s after SIGKILL", id.PID, patience)
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
