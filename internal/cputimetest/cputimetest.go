//go:build unix

// Package cputimetest measures CPU time in tests. Unlike elapsed time, CPU time excludes the time of other programs.
package cputimetest

import (
	"syscall"
	"testing"
	"time"
)

// Used returns the CPU time that the process has used so far. If the system does not report this time, the test fails.
func Used(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
