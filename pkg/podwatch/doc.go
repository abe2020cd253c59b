// Package podwatch observes the pods of one node with one informer.
//
// cmd/agent runs Pods on a goroutine of its own. It passes observations to a function, which leads to
// package reconcile, from that goroutine. That function may block. Meanwhile, what the API server
// sends waits in the connection, so memory does not grow.
//
// An unreachable API server is never an error: Pods retries with back-off until its context ends, and
// reports what is wrong.
package podwatch
