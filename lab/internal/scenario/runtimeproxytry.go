package scenario

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// lookForSockets searches all files in the agent's container for sockets, as the node's root user. The root user can
// see more files than the agent. The proxy's socket must be the only socket.
func lookForSockets(b *bench.Bench, v *Verdict, pid, proxy int) error {
	found, files, err := socketsOf(pid)
	if err != nil {
		return err
	}
	v.Compared++
	if !slices.Equal(found, []string{proxySocket}) {
		v.Problem("the agent's container contains the sockets %q, want only %s", found, proxySocket)
	}
	// The same search in the proxy's container must find containerd's socket. A search that never finds a socket would
	// prove nothing.
	v.Compared++
	if has, _, err := socketsOf(proxy); err != nil {
		v.Problem("search the proxy's container for sockets: %v", err)
	} else if !slices.Contains(has, b.Node.ContainerdSocket()) {
		v.Problem("the proxy's container contains the sockets %q, want %s in the list", has, b.Node.ContainerdSocket())
	}
	// The agent's container must not reach the runtime's socket on the node. The scenario tries the paths of the
	// socket, and the path through /proc/1/root.
	root := fmt.Sprintf("/proc/%d/root", pid)
	for _, path := range []string{
		b.Node.ContainerdSocket(), "/run/containerd/containerd.sock", "/proc/1/root" + b.Node.ContainerdSocket(),
	} {
		v.Compared++
		if conn, err := net.DialTimeout("unix", root+path, time.Second); err == nil {
			_ = conn.Close()
			v.Problem("the agent's container can connect to %s, want no connection", path)
		}
	}
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return fmt.Errorf("read the agent's mounts: %w", err)
	}
	v.Compared++
	if strings.Contains(string(mounts), b.Node.Run+" ") ||
		!strings.Contains(string(mounts), filepath.Dir(proxySocket)+" ") {
		v.Problem("the agent must mount the directory of the proxy's socket and must not mount the runtime's "+
			"directory, but its mounts are:\n%s", mounts)
	}
	v.Note("among the %d files in the agent's container, one file is a socket: %v", files, found)
	return nil
}

// socketsOf returns the sockets that a process can see, and the number of visible files. socketsOf skips /proc and
// /sys.
func socketsOf(pid int) (found []string, files int, err error) {
	root := fmt.Sprintf("/proc/%d/root", pid)
	err = filepath.WalkDir(root+"/", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root+"/":
			return err
		case err != nil && entry.IsDir():
			return fs.SkipDir // the directory was deleted during the walk
		case err != nil:
			return nil
		}
		inside := strings.TrimPrefix(path, root)
		if entry.IsDir() && slices.Contains([]string{"/proc", "/sys"}, inside) {
			return fs.SkipDir
		}
		files++
		if entry.Type()&fs.ModeSocket != 0 {
			found = append(found, inside)
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list the files of a container: %w", err)
	}
	return found, files, nil
}

// tryFromInside runs the agent's program in the agent's container, as the agent's user. The program must find the
// proxy's socket, and must not find a runtime at other paths.
func tryFromInside(ctx context.Context, b *bench.Bench, v *Verdict, pod corev1.Pod) error {
	stdout, stderr, err := checkRuntimeInAgent(ctx, b)
	v.Compared++
	if err != nil || !strings.Contains(stdout, "containerd") || !strings.Contains(stdout, "unix://"+proxySocket) {
		v.Problem("podlapse-agent check in the agent's container must use the proxy's socket, but returned: %v\n%s%s",
			err, stdout, stderr)
	}
	for _, endpoint := range []string{"unix://" + b.Node.ContainerdSocket(), "auto"} {
		stdout, stderr, err := runInAgent(ctx, b, pod, "check", "--cri-endpoint="+endpoint)
		v.Compared++
		if err == nil || !strings.Contains(stdout, "failed   runtime ") {
			v.Problem(
				"podlapse-agent check --cri-endpoint=%s in the agent's container must not find a runtime, but "+
					"returned: %v\n%s%s",
				endpoint,
				err,
				stdout,
				stderr,
			)
		}
	}
	return nil
}

func checkRuntimeInAgent(ctx context.Context, b *bench.Bench) (stdout, stderr string, err error) {
	pod, err := b.Node.AgentPod(ctx)
	if err != nil {
		return "", "", err
	}
	return runInAgent(ctx, b, pod, "check")
}

// judgeProxyProcess requires that the proxy's process has no capabilities, no service account token and no network
// sockets.
func judgeProxyProcess(v *Verdict, pid int) {
	const none = "0000000000000000"
	for name, want := range map[string]string{"CapEff": none, "CapPrm": none, "CapBnd": none,
		"NoNewPrivs": "1", "Seccomp": "2", "Uid": "65532 65532 65532 65532", "Gid": "65532 65532 65532 65532"} {
		v.Compared++
		if got := statusOf(pid, name); got != want {
			v.Problem("the proxy's process has %s %q, want %q", name, got, want)
		}
	}
	v.Compared++
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/root/var/run/secrets/kubernetes.io/serviceaccount/token",
		pid)); err == nil {
		v.Problem("the proxy's container contains a service account token, want none")
	}
	// The pod uses the node's network, so /proc/PID/net also lists the sockets of other processes. The check considers
	// only the sockets that the proxy's process has open.
	inodes := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		for _, inode := range inodesOf(fmt.Sprintf("/proc/%d/net/%s", pid, table)) {
			inodes[inode] = true
		}
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	v.Compared++
	if err != nil {
		v.Problem("cannot check the proxy's sockets: %v", err)
	} else if len(inodes) == 0 {
		v.Problem("cannot check the proxy's sockets: found no network sockets on the node")
	}
	for _, entry := range entries {
		target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, entry.Name()))
		inode := strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")
		if strings.HasPrefix(target, "socket:[") && inodes[inode] {
			v.Problem("the proxy holds the network socket %s, want none", target)
		}
	}
}

// statusOf returns a field of /proc/PID/status with single spaces between the values.
func statusOf(pid int, name string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}

// inodesOf returns the inodes of the sockets in a table of /proc/PID/net.
func inodesOf(path string) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var inodes []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		const inode = 9 // columns: sl local remote st queue tr retrnsmt uid timeout inode
		if fields := strings.Fields(lines.Text()); len(fields) > inode && fields[0] != "sl" {
			inodes = append(inodes, fields[inode])
		}
	}
	return inodes
}
