package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// containerLog matches the file names of container logs, including logs that the kubelet rotated.
var containerLog = regexp.MustCompile(`^[0-9]+\.log(\.[0-9-]+)?$`)

// KeepAgentLogs creates a second hard link for each log of an agent that runs in a container. With the second hard
// link, the log remains available after the kubelet deletes the pod and its logs. Callers that restart agents must call
// KeepAgentLogs at least once during the life of each agent pod.
func (n Node) KeepAgentLogs() error {
	dirs, err := filepath.Glob(n.ContainerLogs(AgentNamespace, "*", "*", agentContainer))
	if err != nil {
		return fmt.Errorf("store the agent's logs: %w", err)
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store the agent's logs: %w", err)
		}
		for _, entry := range entries {
			if err := n.keepLog(filepath.Join(dir, entry.Name())); err != nil {
				return fmt.Errorf("store the agent's logs: %w", err)
			}
		}
	}
	return nil
}

// keepLog creates a second hard link for a log. The link's name is the log's inode number, which is unique while the
// link exists.
func (n Node) keepLog(path string) error {
	if !containerLog.MatchString(filepath.Base(path)) {
		return nil
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	kept := filepath.Join(n.KeptLogs(), fmt.Sprintf("%d.log", info.Sys().(*syscall.Stat_t).Ino))
	if err := os.Link(path, kept); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ForgetAgentLogs removes each hard link that KeepAgentLogs created for a log file that no longer exists.
func (n Node) ForgetAgentLogs() error {
	kept, err := n.keptLogs()
	if err != nil {
		return err
	}
	for _, path := range kept {
		if info, err := os.Lstat(path); err == nil && info.Sys().(*syscall.Stat_t).Nlink == 1 {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("remove the stored logs of the agent: %w", err)
			}
		}
	}
	return nil
}

func (n Node) keptLogs() ([]string, error) {
	return filepath.Glob(filepath.Join(n.KeptLogs(), "*.log"))
}

// latestKeptLog returns the path of the log that changed most recently. The path is a hard link that KeepAgentLogs
// created. Without any hard link, the result is an empty string.
func (n Node) latestKeptLog() (latest string) {
	kept, _ := n.keptLogs() // no error is possible, because the pattern is valid
	var at time.Time
	for _, path := range kept {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(at) {
			latest, at = path, info.ModTime()
		}
	}
	return latest
}

// AgentLogEnd returns the last lines of the agent's log. If the agent runs in a container, its log also contains its
// records. AgentLogEnd omits these records.
func (n Node) AgentLogEnd(lines int) string {
	if n.Form() != Deployed {
		return process.Tail(n.AgentLog(), lines)
	}
	log, err := os.ReadFile(n.AgentLog())
	if err != nil {
		return err.Error()
	}
	logged := slices.Collect(strings.Lines(string(agent.Printed(log, agent.Stderr))))
	return strings.TrimRight(strings.Join(logged[max(0, len(logged)-lines):], ""), "\n")
}

// AgentOutput returns the files with the output of all agents of the node, whether they run as processes or in
// containers.
func (n Node) AgentOutput() (agent.Output, error) {
	if err := n.KeepAgentLogs(); err != nil {
		return agent.Output{}, err
	}
	logs, err := n.keptLogs()
	return agent.Output{File: n.AgentRecords(), Logs: logs}, err
}
