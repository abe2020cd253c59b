package main

import (
	"runtime"
	"testing"
)

// Go must not sample allocations if the agent serves no profiles.
func TestAllocationsAreSampledOnlyForProfiles(t *testing.T) {
	usual := runtime.MemProfileRate
	t.Cleanup(func() { runtime.MemProfileRate = usual })
	runtime.MemProfileRate = 4096
	sampleAllocations(config{profiles: true})
	if runtime.MemProfileRate != 4096 {
		t.Errorf("with profiles, the sampling rate is %d", runtime.MemProfileRate)
	}
	if sampleAllocations(config{}); runtime.MemProfileRate != 0 {
		t.Errorf("without profiles, the sampling rate is %d", runtime.MemProfileRate)
	}
}
