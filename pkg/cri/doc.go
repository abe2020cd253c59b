// Package cri asks the node's container runtime what really happened to a pod: over CRI, and where
// the runtime is containerd, in its own stores beside it: sandboxes, images, content and snapshots.
//
// The package is read-only by construction: the connection passes the calls and streams of two short tables
// and refuses every other method before it is sent (allow.go), because the runtime's socket itself has
// no read-only mode.
//
// What an image consists of is read from containerd's content store and is as hostile as whoever made the image:
// manifest.go bounds it, contents.go keeps what it says, layers.go adds when each layer came. What is being
// downloaded now is not observed but asked for, by whoever shows it (download.go).
//
// A Source is run by the caller on one goroutine; it asks from a few workers of its own and hands
// each answer over from the worker that got it. A missing or broken runtime is never an error: it is
// looked for again until the context ends, and reported meanwhile.
package cri
