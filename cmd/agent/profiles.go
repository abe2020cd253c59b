package main

import "runtime"

// The values of --debug-profiles.
const (
	profilesOn  = "on"
	profilesOff = "off"
)

// sampleAllocations ends what Go does in every program that can make a profile of its memory: note one of some allocations, which takes
// memory of its own.
func sampleAllocations(c config) {
	if !c.profiles {
		runtime.MemProfileRate = 0
	}
}
