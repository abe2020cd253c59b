package main

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestEqualSignalsCountAsOne sends the signals of GNU timeout, which signals its child and then the process group.
func TestEqualSignalsCountAsOne(t *testing.T) {
	for name, test := range map[string]struct {
		second os.Signal
		after  time.Duration
		ends   bool
	}{
		"the same signal of timeout": {syscall.SIGTERM, 10 * time.Millisecond, false},
		"a signal of a user":         {syscall.SIGTERM, time.Second, true},
		"a different signal":         {os.Interrupt, 10 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 2)
				stopped, ended := 0, 0
				go stopOnSignals(signals, func() { stopped++ }, func() { ended++ })
				signals <- syscall.SIGTERM
				synctest.Wait()
				time.Sleep(test.after)
				signals <- test.second
				synctest.Wait()
				if stopped != 1 || (ended == 1) != test.ends {
					t.Errorf("stopped %d times, ended %d times", stopped, ended)
				}
				close(signals)
			})
		})
	}
}
