package main

import "runtime"

// sampleAllocations turns off Go's sampling of allocations unless --debug-profiles is on. By default, Go takes samples
// in every program that links the memory profiler, and the samples use memory.
func sampleAllocations(c config) {
	if !c.profiles {
		runtime.MemProfileRate = 0
	}
}
