package main

import "runtime"

// sampleAllocations turns Go's sampling of allocations on or off. Go samples in every program that can make a memory
// profile, which takes memory.
func sampleAllocations(c config) {
	if !c.profiles {
		runtime.MemProfileRate = 0
	}
}
