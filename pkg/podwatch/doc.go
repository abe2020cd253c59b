// Package podwatch observes the pods of one node with one informer.
//
// cmd/agent runs the type Pods on a separate goroutine. The type Pods passes observations to Config.Observe on the
// goroutine of Pods.Run or of a Verifier. Config.Observe calls package reconcile and can block. While Config.Observe
// blocks, the data from the API server waits in the connection, so memory does not grow.
//
// An unreachable API server is never an error. The type Pods retries with back-off until its context ends, and reports
// the problem.
package podwatch
