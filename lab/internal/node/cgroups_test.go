package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/footprint"
	"github.com/podlapse/podlapse/lab/internal/process"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

func cgroup2Node(t *testing.T) Node {
	t.Helper()
	n := testNode(t)
	var err error
	if n.Stack, err = stack.Load("cgroup2"); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOnlyTheNodeHasOtherCgroups checks which components run in a mount namespace of their own, and which program they
// run as runc.
func TestOnlyTheNodeHasOtherCgroups(t *testing.T) {
	n := cgroup2Node(t)
	own := map[string]bool{containerdName: true, kubeletName: true, agentProcess: true}
	for _, c := range append(n.expectedComponents(), n.agent("/agent", AgentChange{})) {
		if (c.Enter != nil) != own[c.Name] {
			t.Errorf("%s: own mount namespace: %t", c.Name, c.Enter != nil)
		}
	}
	if config := n.containerdConfig("image"); !strings.Contains(config, `BinaryName = "/payload/runc-without-limits"`) {
		t.Errorf("containerd does not run the program without limits:\n%s", config)
	}
	n.Stack = stack.Stack{}
	for _, c := range append(n.expectedComponents(), n.agent("/agent", AgentChange{})) {
		if c.Enter != nil {
			t.Errorf("%s has its own mount namespace on a stack with the machine's cgroups", c.Name)
		}
	}
	if n.runcPath() != n.Programs.RuntimeTool("runc") {
		t.Errorf("runc is %s on a stack with the machine's cgroups", n.runcPath())
	}
}

// TestProcessSeesCgroupV2 starts a process that reads its cgroups and mounts a file system in the state directory.
func TestProcessSeesCgroupV2(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts need root")
	}
	n := cgroup2Node(t)
	if err := n.mountCgroups(); err != nil {
		t.Skipf("this machine does not permit the mounts: %v", err)
	}
	t.Cleanup(func() {
		if err := footprint.Unmount(n.State, n.Run); err != nil {
			t.Error(err)
		}
	})
	before := mountsUnder(t, "/sys/fs/cgroup", n.State, n.Run)
	volume, shell := n.In("volume"), "/bin/sh"
	if err := os.Mkdir(volume, 0o700); err != nil {
		t.Fatal(err)
	}
	enter := n.mountNamespaceEntry()
	record, err := n.starter().Start(process.Spec{Name: "one", Path: shell, Enter: enter, Args: []string{"-c",
		"mount -t tmpfs volume " + volume + " && touch " + volume + "/file && stat -f -c %T /sys/fs/cgroup"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = record.Stop(0) })
	for deadline := time.Now().Add(time.Minute); record.Alive() && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if out := process.Tail(record.Log, 10); out != "cgroup2fs" {
		t.Errorf("the process does not see cgroup v2: %s", out)
	}
	if _, err := os.Stat(filepath.Join(volume, "file")); err != nil {
		t.Errorf("the machine does not see the volume: %v", err)
	}
	if out, err := exec.Command("umount", volume).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if after := mountsUnder(t, "/sys/fs/cgroup", n.State, n.Run); after != before {
		t.Errorf("the process changed the machine's mounts:\n%s\nbefore:\n%s", after, before)
	}
}

// mountsUnder returns the machine's mounts in the given directories. Other programs can mount elsewhere during a test.
func mountsUnder(t *testing.T, dirs ...string) string {
	t.Helper()
	all, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var under strings.Builder
	for line := range strings.Lines(string(all)) {
		point := strings.Fields(line)[4]
		if slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(point+"/", dir+"/") }) {
			under.WriteString(line)
		}
	}
	return under.String()
}
