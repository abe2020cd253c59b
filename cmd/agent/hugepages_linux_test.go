package main

import (
	"os"
	"strings"
	"testing"
)

// The kernel reports in /proc/self/status whether a process can get transparent huge pages (Linux 5.0 or newer).
func TestAvoidHugePages(t *testing.T) {
	avoidHugePages()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(status), "THP_enabled:")
	if value, _, _ := strings.Cut(after, "\n"); found && strings.TrimSpace(value) != "0" {
		t.Errorf("THP_enabled is %q, want 0", value)
	}
}
