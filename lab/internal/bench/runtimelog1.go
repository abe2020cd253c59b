package bench

import (
	"regexp"
	"strings"
)

// containerd 1 writes messages about a pod or container in another form than containerd 2.
var (
	sandboxMetadata1 = regexp.MustCompile(
		`&PodSandboxMetadata\{Name:([^,]*),Uid:([^,]*),Namespace:([^,]*),Attempt:(\d+),\}`,
	)
	containerMetadata1 = regexp.MustCompile(`&ContainerMetadata\{Name:([^,]*),Attempt:(\d+),\}`)
)

// asContainerd2 returns a message of containerd 1 in the form of containerd 2. Other messages stay unchanged.
func asContainerd2(message string) string {
	if after, exited := strings.CutPrefix(message, "received exit event "); exited {
		return "received container exit event " + after
	}
	if !strings.Contains(message, "Metadata{Name:") {
		return message
	}
	message = sandboxMetadata1.ReplaceAllString(message, `name:"$1" uid:"$2" namespace:"$3" attempt:$4`)
	message = containerMetadata1.ReplaceAllString(message, `name:"$1" attempt:$2`)
	return strings.Replace(message, " attempt:0", "", 1) // containerd 2 omits zero
}
