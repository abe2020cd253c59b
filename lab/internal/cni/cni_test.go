package cni

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type bench struct {
	t   *testing.T
	dir string
}

// call runs one command and returns its exit status and its result.
func (b bench) call(command, id string, extra map[string]any) (int, map[string]any) {
	b.t.Helper()
	configuration := map[string]any{"cniVersion": "1.1.0", "name": NetworkName, "type": PluginName,
		"faultsFile": filepath.Join(b.dir, "faults"), "logFile": filepath.Join(b.dir, "log"),
		"leaseDir": filepath.Join(b.dir, "leases")}
	for key, value := range extra {
		configuration[key] = value
	}
	input, err := json.Marshal(configuration)
	if err != nil {
		b.t.Fatal(err)
	}
	environment := map[string]string{"CNI_COMMAND": command, "CNI_CONTAINERID": id, "CNI_NETNS": "/run/netns/" + id,
		"CNI_IFNAME": "eth0", "CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAMESPACE=red;K8S_POD_NAME=pod-" + id}
	var out bytes.Buffer
	status := Main(func(name string) string { return environment[name] }, bytes.NewReader(input), &out)
	var response map[string]any
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &response); err != nil {
			b.t.Fatalf("%s responded %q: %v", command, out.String(), err)
		}
	}
	return status, response
}

func ip(response map[string]any) string {
	ips, _ := response["ips"].([]any)
	if len(ips) != 1 {
		return ""
	}
	entry, _ := ips[0].(map[string]any)
	text, _ := entry["address"].(string)
	return text
}

func TestCommands(t *testing.T) {
	b := bench{t, t.TempDir()}
	if status, response := b.call("VERSION", "", nil); status != 0 || len(response["supportedVersions"].([]any)) == 0 {
		t.Fatalf("VERSION: %d %v", status, response)
	}
	status, first := b.call("ADD", "a", nil)
	if status != 0 || ip(first) != "127.2.0.2/16" {
		t.Fatalf("ADD a: %d %v", status, first)
	}
	if _, second := b.call("ADD", "b", nil); ip(second) != "127.2.0.3/16" {
		t.Fatalf("ADD b: %v", second)
	}
	if status, _ := b.call("CHECK", "a", nil); status != 0 {
		t.Error("CHECK of an attached container fails")
	}
	for range 2 { // the runtime can call DEL twice
		if status, response := b.call("DEL", "a", nil); status != 0 || response != nil {
			t.Fatalf("DEL a: %d %v", status, response)
		}
	}
	if status, _ := b.call("CHECK", "a", nil); status == 0 {
		t.Error("CHECK of a detached container succeeds")
	}
	if _, third := b.call("ADD", "c", nil); ip(third) != "127.2.0.2/16" {
		t.Errorf("the released address is not reused: %v", third)
	}
	if status, response := b.call("STATUS", "", nil); status != 0 || response != nil {
		t.Errorf("STATUS: %d %v", status, response)
	}
	valid := []map[string]string{{"containerID": "c", "ifname": "eth0"}}
	if status, _ := b.call("GC", "", map[string]any{"cni.dev/valid-attachments": valid}); status != 0 {
		t.Error("GC fails")
	}
	if status, _ := b.call("CHECK", "b", nil); status == 0 {
		t.Error("GC kept a stale address")
	}
	if status, _ := b.call("CHECK", "c", nil); status != 0 {
		t.Error("GC released a valid address")
	}
}

func TestFaults(t *testing.T) {
	b := bench{t, t.TempDir()}
	faults := Faults{Namespace: "red", Delay: Duration{60 * time.Millisecond}, Fail: "no more addresses"}
	if err := WriteFaults(filepath.Join(b.dir, "faults"), faults); err != nil {
		t.Fatal(err)
	}
	startedAt := time.Now()
	status, response := b.call("ADD", "a", nil)
	if status == 0 || response["msg"] != faults.Fail || response["code"] == nil {
		t.Errorf("ADD with a fault: %d %v", status, response)
	}
	if took := time.Since(startedAt); took < faults.Delay.Duration {
		t.Errorf("ADD took %s, the injected delay is %s", took, faults.Delay)
	}
	faults.Namespace = "blue"
	if err := WriteFaults(filepath.Join(b.dir, "faults"), faults); err != nil {
		t.Fatal(err)
	}
	if status, response := b.call("ADD", "b", nil); status != 0 {
		t.Errorf("another namespace's fault was applied: %v", response)
	}
	entries, err := ReadLog(filepath.Join(b.dir, "log"), "red")
	if err != nil || len(entries) != 2 {
		t.Fatalf("log: %v %v", entries, err)
	}
	if e := entries[0]; e.Pod != "pod-a" || e.Error == "" || e.EndAt.Sub(e.StartAt) < 60*time.Millisecond {
		t.Errorf("log entry %+v", e)
	}
}

func TestInvalidCalls(t *testing.T) {
	b := bench{t, t.TempDir()}
	for name, test := range map[string]struct {
		command, id string
		extra       map[string]any
		want        string
	}{
		"command": {"JUMP", "a", nil, "CNI_COMMAND"},
		"version": {"ADD", "a", map[string]any{"cniVersion": "9.9.9"}, "9.9.9"},
		"id":      {"ADD", "", nil, "CNI_CONTAINERID"},
	} {
		status, response := b.call(test.command, test.id, test.extra)
		message, _ := response["msg"].(string)
		if status == 0 || !strings.Contains(message, test.want) {
			t.Errorf("%s: %d %v", name, status, response)
		}
	}
	var out bytes.Buffer
	if status := Main(func(string) string { return "" }, strings.NewReader("{"), &out); status == 0 {
		t.Error("an invalid configuration is accepted")
	}
}
