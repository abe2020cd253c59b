// Package layout defines the lab's directories and loopback ports. The directories are for state, sockets and the
// cache. Environment variables set the directories. All other packages get the directories from this package.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// The environment variables that set the lab's directories.
const (
	StateVariable = "PODLAPSE_LAB_DIR"
	CacheVariable = "PODLAPSE_LAB_CACHE"
)

const defaultState = "/var/lib/podlapse-lab"

// Layout contains the absolute paths of a lab's directories.
type Layout struct {
	State string // configuration, data and logs; "lab down" removes the directory
	Run   string // sockets and containerd's state; the path must be short, because a socket path has at most 107 bytes
	Cache string // built programs; "lab down" keeps the directory
}

// FromEnvironment returns the layout that the environment variables define. The argument "getenv" is os.Getenv, except
// in tests.
func FromEnvironment(getenv func(string) string) (Layout, error) {
	state := getenv(StateVariable)
	if state == "" {
		state = defaultState
	}
	if !filepath.IsAbs(state) {
		return Layout{}, fmt.Errorf("%s=%q: must be an absolute path", StateVariable, state)
	}
	state = filepath.Clean(state)
	if state == "/" {
		return Layout{}, fmt.Errorf("%s=%q: must be a directory that only the lab uses, because \"make down\" deletes "+
			"this directory", StateVariable, state)
	}
	cache, err := cacheRoot(getenv)
	if err != nil {
		return Layout{}, err
	}
	name := "podlapse-lab"
	if state != defaultState {
		// The run directory cannot be below the state directory, because the length of socket paths is limited. The
		// name of the run directory contains a hash of the state directory's path. Each lab therefore has its own run
		// directory.
		sum := sha256.Sum256([]byte(state))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return Layout{State: state, Run: "/run/" + name, Cache: cache}, nil
}

func cacheRoot(getenv func(string) string) (string, error) {
	root := getenv(CacheVariable)
	if root == "" {
		root = getenv("XDG_CACHE_HOME")
	}
	if root == "" {
		home := getenv("HOME")
		if home == "" {
			home = "/root"
		}
		root = filepath.Join(home, ".cache")
	}
	if !filepath.IsAbs(root) {
		return "", fmt.Errorf("invalid cache directory %q: set %s, XDG_CACHE_HOME or HOME to an absolute path", root,
			CacheVariable)
	}
	return filepath.Join(root, "podlapse-lab"), nil
}

// In returns a path below the state directory.
func (l Layout) In(elements ...string) string {
	return filepath.Join(append([]string{l.State}, elements...)...)
}

// ContainerdSocket returns the path of containerd's CRI socket.
func (l Layout) ContainerdSocket() string { return filepath.Join(l.Run, "containerd.sock") }

// ContainerdState returns containerd's own state directory, which contains bundles, network namespaces and mounts.
func (l Layout) ContainerdState() string { return filepath.Join(l.Run, "containerd") }

// RuncRoot returns runc's own state directory.
func (l Layout) RuncRoot() string { return filepath.Join(l.Run, "runc") }

// ShimSockets returns the directory in which containerd creates the sockets of its shims.
func (l Layout) ShimSockets() string { return filepath.Join(l.Run, "s") }

// Logs returns the directory with the logs of the components.
func (l Layout) Logs() string { return l.In("logs") }

// Processes returns the directory with the records of the lab's processes.
func (l Layout) Processes() string { return l.In("processes") }

// Kubeconfig returns the path of the kubeconfig of a user such as admin or agent.
func (l Layout) Kubeconfig(user string) string { return l.In("kubeconfig", user+".kubeconfig") }

// CNIFaults returns the path of the file with the faults of the CNI plugin. Scenarios write the file.
func (l Layout) CNIFaults() string { return l.In("cni", "faults.json") }

// CNILog returns the path of the file in which the CNI plugin logs its ADD commands with their times.
func (l Layout) CNILog() string { return l.In("cni", "log.jsonl") }

// AgentRecords returns the path of the file with the standard output of agents that run as processes.
func (l Layout) AgentRecords() string { return l.In("agent-records.jsonl") }

// AgentFiles returns the directory into which agents write files. The directory contains AgentObservations and
// AgentState. Agents that run as processes and agents in containers use the same directory.
func (l Layout) AgentFiles() string { return l.In("agent") }

// AgentObservations returns the path of the agent's recording. In this file, the agent records what its sources
// observe.
func (l Layout) AgentObservations() string {
	return filepath.Join(l.AgentFiles(), "observations.jsonl")
}

// AgentState returns the directory with the state that the agent preserves across restarts.
func (l Layout) AgentState() string { return filepath.Join(l.AgentFiles(), "state") }

// KeptLogs returns the directory in which the lab keeps the logs of agents in containers.
func (l Layout) KeptLogs() string { return l.In("agent-logs") }

// OTLP returns the path of the file in which the OTLP receiver stores the received data.
func (l Layout) OTLP() string { return l.In("otlp.jsonl") }

// PodLogs returns the path of the log of a container's first run.
func (l Layout) PodLogs(namespace, pod, uid, container string) string {
	return filepath.Join(l.ContainerLogs(namespace, pod, uid, container), "0.log")
}

// ContainerLogs returns the directory with the logs of all runs of a container. If the name or the UID of the pod is
// "*", ContainerLogs returns a glob pattern, which can match several directories.
func (l Layout) ContainerLogs(namespace, pod, uid, container string) string {
	return l.In("pod-logs", namespace+"_"+pod+"_"+uid, container)
}

// Lock returns the path of the lock file. The lock prevents two lab commands from changing the same node at the same
// time.
func (l Layout) Lock() string { return l.Run + ".lock" }

// Create creates the state and run directories. Only root can read the directories, because the state directory
// contains private keys.
func (l Layout) Create() error {
	for _, dir := range []string{l.State, l.Run, l.Logs(), l.Processes(), l.In("kubeconfig"), l.In("cni"),
		l.AgentFiles(), l.KeptLogs()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create lab directory: %w", err)
		}
	}
	// The run directory has the same mode as /run/containerd, so that agents that do not run as root can reach the
	// socket. To open the socket, an agent that does not run as root must be a member of the socket's group.
	if err := os.Chmod(l.Run, 0o711); err != nil {
		return fmt.Errorf("create lab directory: %w", err)
	}
	return nil
}
