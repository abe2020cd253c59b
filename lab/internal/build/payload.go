package build

import "github.com/podlapse/podlapse/lab/internal/cni"

// WorkloadName is the file name of the program that runs in the lab's images.
const WorkloadName = "workload"

// payload returns the lab's own small programs. The programs are linked statically, because they run where no libraries
// are installed.
func payload() []program {
	return []program{
		{cni.PluginName, modulePath + "/cmd/cni"},
		{WorkloadName, modulePath + "/cmd/workload"},
	}
}

// payloadSources returns the directories from which the payload is compiled. A test checks the imports of these
// programs: only the standard library, and packages in this list.
func payloadSources() []string {
	return []string{"cmd/cni", "cmd/workload", "internal/cni", "internal/workload"}
}
