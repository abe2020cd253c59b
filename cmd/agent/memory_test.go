package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/critest"
)

// BenchmarkMemory starts an agent on a node with running pods, and reports the agent's memory in MiB: the peak during
// the start, the anonymous and the file-backed memory after the agent has settled all start-ups, the heap, and the peak
// after a client requested all start-ups. The agent is scraped without a pause during its start. Each pod has four
// containers and 22 KiB. PODLAPSE_MEMORY_AGENT=FILE measures a binary instead of the test's own program, which has more
// file-backed memory.
func BenchmarkMemory(b *testing.B) {
	for _, count := range []int{1, 110, 500} {
		for name, streams := range map[string]bool{"stream": true, "list": false} {
			b.Run(fmt.Sprint(count, "/", name), func(b *testing.B) {
				for range b.N {
					measureMemory(b, count, streams)
				}
			})
		}
	}
}

// The times for which measureMemory waits: until the agent has done all its work, and until Go has returned unused
// memory to the kernel.
const memoryRest, memoryReturned = 5 * time.Second, 2 * time.Second

func measureMemory(b *testing.B, count int, streams bool) {
	runtime := critest.Start(b, filepath.Join(b.TempDir(), "cri.sock"), critest.Options{})
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = longRunning(i)
		putRunning(runtime, pods[i], i)
	}
	program := os.Getenv("PODLAPSE_MEMORY_AGENT")
	if program == "" {
		program = os.Args[0]
	}
	agent := startProgram(b, program, func(*os.File) {}, "--kubeconfig",
		agentstest.Kubeconfig(b, serveProtobuf(b, pods, streams)), "--cri-endpoint", runtime.Endpoint(),
		"--debug-profiles", "--state-dir", b.TempDir())
	agent.pollMatch("/metrics", `podlapse_evidence_reconstructed_total\{how="over"\} `+strconv.Itoa(count)+"\n")
	time.Sleep(memoryRest)
	b.ReportMetric(agent.memoryInMiB("VmHWM"), "peak-MiB")
	agent.get("/debug/pprof/heap?gc=1")
	time.Sleep(memoryReturned)
	b.ReportMetric(agent.memoryInMiB("RssAnon"), "anon-MiB")
	b.ReportMetric(agent.memoryInMiB("RssFile"), "file-MiB")
	b.ReportMetric(agent.metric("go_memory_classes_heap_objects_bytes")/(1<<20), "heap-MiB")
	agent.get("/api/v1/pods?limit=500")
	b.ReportMetric(agent.memoryInMiB("VmHWM"), "requested-MiB")
	b.ReportMetric(0, "ns/op")
	agent.mustEndCleanly()
}

// memoryInMiB returns a line of /proc/PID/status in MiB.
func (p *process) memoryInMiB(name string) float64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Skipf("only Linux reports the memory of a process: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kibibytes, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kibibytes / 1024
		}
	}
	p.t.Fatalf("no %s in %s", name, text)
	return 0
}
