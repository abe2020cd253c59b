// Package cri queries the node's container runtime for what really happened to a pod: over CRI and,
// if the runtime is containerd, in its own stores: sandboxes, images, content and snapshots.
//
// The package can only read: the connection passes the calls and streams of two short tables
// (allow.go) and refuses every other method before it is sent, because the runtime's socket itself
// has no read-only mode.
//
// The list of an image's parts comes from containerd's content store, and is as untrusted as the image's author:
// manifest.go limits it, contents.go caches it, and layers.go adds when each layer arrived. Downloads in progress are
// not observed: the code that shows them queries them (download.go).
//
// cmd/agent runs a Source on one goroutine. The Source sends queries from a few worker goroutines
// of its own and passes each answer on from the worker that got it. A missing or broken runtime is
// never an error: the Source looks for a runtime until the context ends, and reports what is wrong.
package cri
