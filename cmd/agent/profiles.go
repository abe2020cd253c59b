package main

import "runtime"

// sampleAllocations turns off Go's sampling of allocations unless --debug-profiles is on. If a program contains Go's
// memory profiler, Go takes these samples by default. The samples use memory.
func sampleAllocations(c config) {
	if !c.profiles {
		runtime.MemProfileRate = 0
	}
}
