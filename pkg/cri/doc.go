// Package cri queries the node's container runtime about pods. The package uses CRI and, if the runtime is containerd,
// also containerd's own stores: sandboxes, containers, images, content and snapshots.
//
// The package can only read from the runtime. The runtime's socket has no read-only mode, so the connection permits
// only the calls and streams that two short tables list (allow.go). The connection refuses every method that these
// tables do not list, without sending a request.
//
// The list of an image's parts comes from containerd's content store. The author of an image writes the list of its
// parts, so the list is untrusted. manifest.go parses the list of parts within limits, contents.go caches the list, and
// layers.go adds the arrival time of each layer. The package looks for downloads in progress only when a caller calls
// Downloads (download.go).
//
// cmd/agent runs a Source on one goroutine. The Source sends queries from a few worker goroutines. Each worker passes
// the responses that it receives to Config.Observe. A missing or broken runtime is never an error: the Source looks for
// a runtime until the context ends, and reports the problem.
package cri
