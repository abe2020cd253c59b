package main

import "runtime"

// sampleAllocations stops what Go does in every program that can make a profile of its memory: it records some of the
// allocations, which takes memory.
func sampleAllocations(c config) {
	if !c.profiles {
		runtime.MemProfileRate = 0
	}
}
