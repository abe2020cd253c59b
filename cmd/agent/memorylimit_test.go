package main

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func cgroups(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestCgroupMemory(t *testing.T) {
	const limit = 90 << 20
	for name, test := range map[string]struct {
		files map[string]string
		want  int64 // 0: no limit
	}{
		"a container, version 2": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "94371840\n"}, limit},
		"a cgroup path of the host": {map[string]string{
			"proc/self/cgroup": "0::/kubepods/pod1/c1\n", "sys/fs/cgroup/memory.max": "94371840\n"}, limit},
		"a service": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/agent.service\n",
			"sys/fs/cgroup/system.slice/agent.service/memory.max": "94371840\n",
			"sys/fs/cgroup/system.slice/memory.max":               "max\n"}, limit},
		"a lower limit in the parent": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "99999999999\n",
			"sys/fs/cgroup/a/memory.max": "94371840\n"}, limit},
		"version 1": {map[string]string{
			"proc/self/cgroup":                           "9:name=systemd:/\n4:memory:/docker/x\n1:cpu:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "94371840\n"}, limit},
		"version 1 without a limit": {map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"version 2 without a limit": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"no cgroups": {nil, 0},
		"nonsense": {map[string]string{
			"proc/self/cgroup": "0::/../..\nx\n:::\n0::\n", "sys/fs/cgroup/memory.max": "-5\n"}, 0},
	} {
		if got, ok := cgroupMemory(cgroups(test.files)); ok != (test.want > 0) || ok && got != test.want {
			t.Errorf("%s: %d, %t, want %d", name, got, ok, test.want)
		}
	}
}

func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	root := cgroups(map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000000000000\n"})
	limitMemory(func(string) string { return "1GiB" }, root) // both GOGC and GOMEMLIMIT
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("with GOGC: %d", got)
	}
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("with GOMEMLIMIT: %d", got)
	}
	if memoryLimitField().Key != "" {
		t.Error("no limit is logged")
	}
	limitMemory(func(string) string { return "" }, root)
	if got := debug.SetMemoryLimit(-1); got != 900e9 {
		t.Errorf("limit %d", got)
	}
	if got := debug.SetGCPercent(100); got != collectAt {
		t.Errorf("%d percent", got)
	}
	if got := memoryLimitField(); got.Key != "memory_limit_bytes" || got.Integer != 900e9 {
		t.Errorf("logged %+v", got)
	}
}
