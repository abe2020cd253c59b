package timeline

import (
	"slices"
	"strings"
)

// storageText is the beginning of CRI-O's errors about a sandbox whose storage CRI-O could not create
// (server/sandbox_run_linux.go). At this step, CRI-O pulls an absent sandbox image, and then creates the file system of
// the sandbox (internal/storage/runtime.go).
const storageText = "creating pod sandbox with name"

// registryTexts lists texts in errors that occur while CRI-O waits for a response of a registry. The texts come from
// the library containers/image (docker, internal/iolimits, storage). Older versions of this library write "docker
// registry".
var registryTexts = []string{
	"pinging container registry",
	"pinging docker registry",
	"requesting bearer token",
	"unable to retrieve auth token",
	"reading manifest",
	"reading blob",
	"fetching blob",
	"happened during read", // the registry did not send a blob to its end
}

// imageTexts lists texts in errors that occur while CRI-O pulls an image. The registry or the node can be the reason.
var imageTexts = []string{"initializing source", "copying", "blob", "manifest"}

// storageObstacleOf returns the obstacle of an error that contains storageText. The text of the error must be in lower
// case. An error in runtimeTexts, such as a full disk, can also occur during a pull. In this case, the attempt can
// include the pull, although the registry is not the reason for the error.
func storageObstacleOf(text string) obstacle {
	anyOf := func(texts []string) bool {
		return slices.ContainsFunc(texts, func(words string) bool { return strings.Contains(text, words) })
	}
	switch ofNode := anyOf(runtimeTexts); {
	case !ofNode && anyOf(registryTexts):
		return obstacleSandboxImage
	case ofNode && !anyOf(imageTexts):
		return obstacleSandboxRuntime
	}
	return obstacleSandboxStorage
}
