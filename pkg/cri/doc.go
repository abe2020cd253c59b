// Package cri asks the node's container runtime what really happened to a pod: over CRI, and where
// the runtime is containerd, in its own image and sandbox stores beside it.
//
// The package is read-only by construction: the connection passes the calls of one short table and
// refuses every other method before it is sent (allow.go), because the runtime's socket itself has
// no read-only mode.
//
// A Source is run by the caller on one goroutine; it asks from a few workers of its own and hands
// each answer over from the worker that got it. A missing or broken runtime is never an error: it is
// looked for again until the context ends, and reported meanwhile.
package cri
