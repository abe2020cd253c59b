package main

import (
	"runtime"
	"testing"
)

// What nobody can ask for is not noted.
func TestAllocationsAreSampledOnlyForProfiles(t *testing.T) {
	usual := runtime.MemProfileRate
	t.Cleanup(func() { runtime.MemProfileRate = usual })
	runtime.MemProfileRate = 4096
	sampleAllocations(config{profiles: true})
	if runtime.MemProfileRate != 4096 {
		t.Errorf("with profiles the rate is %d", runtime.MemProfileRate)
	}
	if sampleAllocations(config{}); runtime.MemProfileRate != 0 {
		t.Errorf("without profiles the rate is %d", runtime.MemProfileRate)
	}
}
