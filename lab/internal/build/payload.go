package build

import (
	"github.com/podlapse/podlapse/lab/internal/cni"
	"github.com/podlapse/podlapse/lab/internal/credentials"
	"github.com/podlapse/podlapse/lab/internal/runc"
)

// WorkloadName is the file name of the program that runs in the lab's images.
const WorkloadName = "workload"

// payload returns the lab's own small programs. Containers, containerd and the kubelet run these programs where no
// libraries are installed, so the programs are static.
func payload() []program {
	return []program{
		{cni.PluginName, modulePath + "/cmd/cni"},
		{credentials.PluginName, modulePath + "/cmd/credentials"},
		{WorkloadName, modulePath + "/cmd/workload"},
		{runc.ProgramName, modulePath + "/cmd/" + runc.ProgramName},
	}
}

// payloadSources returns the source directories of the programs in payload. A test checks that these programs import
// only the standard library and packages from these directories.
func payloadSources() []string {
	return []string{"cmd/cni", "cmd/credentials", "cmd/workload", "cmd/" + runc.ProgramName, "internal/cni",
		"internal/credentials", "internal/runc", "internal/workload"}
}
