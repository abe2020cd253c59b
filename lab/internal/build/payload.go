package build

import "github.com/podlapse/podlapse/lab/internal/cni"

// WorkloadName is the file name of the program in the images.
const WorkloadName = "workload"

// payload returns the lab's own small programs. They are static, because they run where nothing is installed.
func payload() []program {
	return []program{
		{cni.PluginName, modulePath + "/cmd/cni"},
		{WorkloadName, modulePath + "/cmd/workload"},
	}
}

// payloadSources returns the directories from which the payload is compiled. They import only the standard library and
// each other, as a test checks.
func payloadSources() []string {
	return []string{"cmd/cni", "cmd/workload", "internal/cni", "internal/workload"}
}
