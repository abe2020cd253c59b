// Package podwatch observes the pods of one node with one reflector of client-go. The reflector updates the package's
// own store, so the package needs no informer.
//
// cmd/agent calls Pods.Run on a separate goroutine. The function Config.Observe receives the observations on the
// goroutine of Pods.Run or of a Verifier. Config.Observe calls package reconcile and can block. While Config.Observe
// blocks, the data from the API server waits in the connection, so memory does not grow.
//
// If the API server is unreachable, Pods.Run does not return an error. Pods.Run reports the problem and retries with
// back-off until its context ends.
package podwatch
