// Package podwatch observes the pods of one node with one reflector of client-go. The reflector updates the package's
// own store, so the package needs no informer.
//
// cmd/agent runs the type Pods on a separate goroutine. The type Pods passes observations to Config.Observe on the
// goroutine of Pods.Run or of a Verifier. Config.Observe calls package reconcile and can block. While Config.Observe
// blocks, the data from the API server waits in the connection, so memory does not grow.
//
// Pods.Run does not fail if the API server is unreachable: it reports the problem and retries with back-off until its
// context ends.
package podwatch
