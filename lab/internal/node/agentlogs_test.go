package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeepAgentLogs(t *testing.T) {
	n := testNode(t)
	dir := n.ContainerLogs(AgentNamespace, "podlapse-agent-x", "uid", agentContainer)
	other := n.ContainerLogs("default", "podlapse-agent-x", "uid", agentContainer)
	for _, dir := range []string{dir, other} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "0.log"), "one ")
	write(filepath.Join(dir, "0.log.20260102-030405.gz"), "packed")
	write(filepath.Join(other, "0.log"), "of another namespace")
	keep := func() []string {
		t.Helper()
		output, err := n.AgentOutput()
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, path := range output.Logs {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(data))
		}
		return texts
	}
	if got := keep(); len(got) != 1 || got[0] != "one " {
		t.Fatalf("kept %q", got)
	}
	write(filepath.Join(dir, "0.log"), "two")
	// Rename the log as the kubelet does when it rotates logs.
	if err := os.Rename(filepath.Join(dir, "0.log"), filepath.Join(dir, "0.log.20260102-030405")); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "0.log"), "three")
	if got := keep(); len(got) != 2 || strings.Join(got, "|") != "one two|three" &&
		strings.Join(got, "|") != "three|one two" {
		t.Errorf("kept %q", got)
	}
	if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	if got := keep(); len(got) != 2 {
		t.Errorf("after the pod was deleted: %q", got)
	}
	if err := n.ForgetAgentLogs(); err != nil {
		t.Fatal(err)
	}
	if got := keep(); len(got) != 0 {
		t.Errorf("after ForgetAgentLogs: %q", got)
	}
}
