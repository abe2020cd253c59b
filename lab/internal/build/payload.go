package build

import "github.com/podlapse/podlapse/lab/internal/cni"

// WorkloadName is the file name of the program that goes into the images.
const WorkloadName = "workload"

// payload is the lab's own small programs: they run where nothing is installed, so they are static.
func payload() []program {
	return []program{
		{cni.PluginName, modulePath + "/cmd/cni"},
		{WorkloadName, modulePath + "/cmd/workload"},
	}
}

// payloadSources are the directories that the payload is compiled from; it imports nothing else but
// the standard library (a test checks it).
func payloadSources() []string {
	return []string{"cmd/cni", "cmd/workload", "internal/cni", "internal/workload"}
}
