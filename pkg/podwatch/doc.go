// Package podwatch observes the pods of one node with one informer.
//
// cmd/agent runs the type Pods on a separate goroutine. On the goroutine of Pods.Run or of a Verifier, the type Pods
// passes observations to Config.Observe, which calls package reconcile. Config.Observe can block. While Config.Observe
// blocks, the data from the API server waits in the connection, so memory does not grow.
//
// An unreachable API server is never an error. The type Pods retries with back-off until its context ends, and reports
// the problem.
package podwatch
