// Package eventwatch observes the kubelet's Events about a pod for as long as package reconcile requests these Events.
// A watch serves one pod, or many pods share a watch.
//
// cmd/agent runs Source on its own goroutine. Source passes observations to a function that calls package reconcile.
// Each open watch has its own goroutine, which passes on the observations of the watch. The function that receives the
// observations may block. While the receiving function blocks, the API server's data waits in the connection, so the
// agent's memory does not grow.
//
// An unreachable API server is never an error: Source reports the problem and retries with back-off until its
// context is done.
package eventwatch
