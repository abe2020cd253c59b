// Package cri queries the node's container runtime about pods. The package uses CRI. If the runtime is containerd, the
// package also reads containerd's own stores: sandboxes, containers, images, content and snapshots.
//
// The package can only read from the runtime. The runtime's socket has no read-only mode. Therefore, the connection
// permits only the calls and streams in two short tables (allow.go). If a method is not in these tables, the connection
// sends no request and returns an error.
//
// The package reads the manifest of an image from containerd's content store. The manifest lists the parts of the
// image. The author of the image writes the manifest, so the manifest is untrusted. manifest.go parses the manifest
// within limits. contents.go caches the list of parts. layers.go adds the arrival time of each layer. The package looks
// for downloads in progress only when a caller calls Downloads (download.go).
//
// cmd/agent runs a Source on one goroutine. The Source sends queries from a few worker goroutines. Each worker passes
// the responses that it receives to Config.Observe. If the runtime is missing or broken, the Source does not stop. The
// Source reports the problem, and looks for a runtime until the context ends.
package cri
